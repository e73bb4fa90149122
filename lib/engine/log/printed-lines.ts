/** What an attempt printed, as it is kept: the same bound for every type of node, whoever collected the lines. */

export const printedLimits = {
  lines: 200,
  /** in UTF-8 */
  bytes: 16_384,
} as const;

/** Stands in the last line's place where there was more. */
const truncationMark = '… more was printed and is not kept';

export interface PrintedLines {
  add(line: string): void;
  lines(): readonly string[];
}

export function collectPrintedLines(): PrintedLines {
  const lines: string[] = [];
  let bytes = bytesOf(truncationMark);
  let isTruncated = false;
  return {
    add: (line) => {
      // Measured only where it may fit: a line may be far longer than all that is kept.
      const size = isTruncated || line.length > printedLimits.bytes ? Infinity : bytesOf(line);
      bytes += size;
      isTruncated ||= lines.length >= printedLimits.lines - 1 || bytes > printedLimits.bytes;
      if (!isTruncated) lines.push(line);
    },
    lines: () => (isTruncated ? [...lines, truncationMark] : lines),
  };
}

/** The same lines where they keep to the bound. What was cut before may be cut again, and says so once. */
export function boundPrintedLines(lines: readonly string[]): readonly string[] {
  if (lines.length <= printedLimits.lines && lines.reduce((sum, line) => sum + bytesOf(line), 0) <= printedLimits.bytes)
    return lines;
  const printed = collectPrintedLines();
  for (const line of lines) printed.add(line);
  return printed.lines();
}

/** Of a text in UTF-8; half a character counts as the three bytes that it is written as. */
function bytesOf(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const isPair = unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    if (isPair) at += 1;
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : isPair ? 4 : 3;
  }
  return bytes;
}
