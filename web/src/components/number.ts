/** 12,345 */
export const grouped = (value: number) => value.toLocaleString("en");
