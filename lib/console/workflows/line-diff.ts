/** The differences of two texts by line: the longest common subsequence. Long texts are compared as a whole, because the cost is a product. */
const maxCells = 1_000_000;

export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (old.length * fresh.length > maxCells) return [...old.map(removed), ...fresh.map(added)];
  const common = commonLengths(old, fresh);
  const lines: DiffLine[] = [];
  let [left, right] = [0, 0];
  while (left < old.length || right < fresh.length) {
    const [one, other] = [old[left], fresh[right]];
    if (one !== undefined && one === other) {
      lines.push({ kind: 'same', text: one });
      left += 1;
      right += 1;
    } else if (one !== undefined && (other === undefined || at(common, left + 1, right) >= at(common, left, right + 1))) {
      lines.push(removed(one));
      left += 1;
    } else {
      lines.push(added(other ?? ''));
      right += 1;
    }
  }
  return lines;
}

const at = (table: readonly (readonly number[])[], row: number, column: number): number => table[row]?.[column] ?? 0;

/** The length of the longest common subsequence of what follows each pair of lines. */
function commonLengths(old: readonly string[], fresh: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: old.length + 1 }, () => Array.from({ length: fresh.length + 1 }, () => 0));
  for (let row = old.length - 1; row >= 0; row -= 1) {
    const own = table[row] ?? [];
    for (let column = fresh.length - 1; column >= 0; column -= 1)
      own[column] =
        old[row] === fresh[column]
          ? at(table, row + 1, column + 1) + 1
          : Math.max(at(table, row + 1, column), at(table, row, column + 1));
  }
  return table;
}
