/** What a script printed, up to a limit; the last line then says that there was more. */
import { scriptLimits } from './script.ts';

const cutMark = '… more was printed and is not kept';

export interface Printed {
  add(line: string): void;
  lines(): readonly string[];
}

export function collectPrinted(): Printed {
  const lines: string[] = [];
  let bytes = Buffer.byteLength(cutMark);
  let isCut = false;
  return {
    add: (line) => {
      bytes += Buffer.byteLength(line);
      isCut ||= lines.length >= scriptLimits.printedLines - 1 || bytes > scriptLimits.printedBytes;
      if (!isCut) lines.push(line);
    },
    lines: () => (isCut ? [...lines, cutMark] : lines),
  };
}
