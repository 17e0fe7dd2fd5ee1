export function Fleet() {
  return null;
}
