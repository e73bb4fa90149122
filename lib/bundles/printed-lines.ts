/** Splits printed output into lines, up to a limit per message or workflow task. A last line says that output was cut. */
const truncationNotice = '… output truncated: the limit is reached';

export const printLimits = {
  /** a longer line is split */
  lineCharacters: 8_192,
  characters: 262_144,
} as const;

export interface PrintedLines {
  add(text: string): void;
  /** Emits the unfinished line, and resets the limit. */
  flush(): void;
}

export function printedLines(print: (line: string) => void): PrintedLines {
  let partialLine = '';
  let remaining: number = printLimits.characters;
  const printInChunks = (line: string): void => {
    for (let at = 0; at < line.length; at += printLimits.lineCharacters) print(line.slice(at, at + printLimits.lineCharacters));
  };
  return {
    add: (text) => {
      if (remaining < 0) return;
      const lines = (partialLine + text.slice(0, remaining)).split('\n');
      remaining -= text.length;
      partialLine = lines.pop() ?? '';
      for (const line of lines) printInChunks(line);
      if (remaining >= 0) return;
      printInChunks(partialLine);
      partialLine = '';
      print(truncationNotice);
    },
    flush: () => {
      printInChunks(partialLine);
      partialLine = '';
      remaining = printLimits.characters;
    },
  };
}
