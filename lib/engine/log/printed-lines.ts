/** The lines that an attempt printed, with one bound for every node type. */

export const printedLimits = {
  lines: 200,
  /** in UTF-8 */
  bytes: 16_384,
} as const;

/** Replaces the last line if lines were dropped. */
const truncationMark = '… more was printed and is not stored';

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
      // Measured only if it may fit: a line may be far longer than the whole bound.
      const size = isTruncated || line.length > printedLimits.bytes ? Infinity : bytesOf(line);
      bytes += size;
      isTruncated ||= lines.length >= printedLimits.lines - 1 || bytes > printedLimits.bytes;
      if (!isTruncated) lines.push(line);
    },
    lines: () => (isTruncated ? [...lines, truncationMark] : lines),
  };
}

/** The lines within the bound. Lines that were already truncated may be truncated again and carry one mark. */
export function boundPrintedLines(lines: readonly string[]): readonly string[] {
  if (lines.length <= printedLimits.lines && lines.reduce((sum, line) => sum + bytesOf(line), 0) <= printedLimits.bytes)
    return lines;
  const printed = collectPrintedLines();
  for (const line of lines) printed.add(line);
  return printed.lines();
}

/** Length in UTF-8. A lone surrogate counts as the three bytes that encode it. */
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
