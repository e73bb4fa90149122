/** What a thread prints, line by line, up to a limit for each stretch of work; the last line then says that there was more. */
const truncationNotice = '… more was printed and is not kept';

export const printLimits = {
  /** a longer line becomes several */
  lineCharacters: 8_192,
  characters: 262_144,
} as const;

export interface PrintedLines {
  add(text: string): void;
  /** What stands without a line end is a line now, and counting begins again. */
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
