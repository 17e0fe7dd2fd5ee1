export function Inbox() {
  return null;
}
