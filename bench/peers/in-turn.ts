/** The same in a circle, beginning one further in each round: whoever comes first has the machine as the last one left it. */
export function inTurn<One>(all: readonly One[], round: number): readonly One[] {
  const first = round % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}
