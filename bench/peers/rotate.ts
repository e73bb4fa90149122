/** Rotates the order by one in each round, because the first engine runs under the effects of the previous round. */
export function rotate<Item>(items: readonly Item[], round: number): readonly Item[] {
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
