/** Small prices and sizes as text. */

/** Two significant digits at least: a run costs millionths of a dollar. */
export function dollarsText(dollars: number): string {
  if (dollars === 0) return '$0';
  const digits = dollars >= 1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(dollars)));
  return `$${dollars.toFixed(digits)}`;
}

const units = ['bytes', 'KB', 'MB', 'GB'] as const;

export function bytesText(bytes: number): string {
  const power = bytes < 1_024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(bytes) / Math.log(1_024)));
  return `${power === 0 ? bytes : (bytes / 1_024 ** power).toFixed(1)} ${units[power]}`;
}
