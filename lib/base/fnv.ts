/** The UTF-16 units of a text. */
export const unitsOf = (text: string): readonly number[] =>
  Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));

/** FNV-1a (draft-eastlake-fnv), 32 bits. The same for the same units, on every machine. */
export const fnv = (units: readonly number[]): number => {
  let hash = 0x811c9dc5;
  for (const unit of units) hash = Math.imul(hash ^ unit, 0x01000193) >>> 0;
  return hash;
};
