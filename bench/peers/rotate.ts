/** The same in a circle, beginning one further in each round: whoever comes first has the machine as the last one left it. */
export function rotate<Item>(items: readonly Item[], round: number): readonly Item[] {
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
