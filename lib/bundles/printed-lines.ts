/** What a thread prints, line by line, up to a limit for each stretch of work; the last line then says that there was more. */
const cutMark = '… more was printed and is not kept';

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
  let rest = '';
  let room: number = printLimits.characters;
  const put = (line: string): void => {
    for (let at = 0; at < line.length; at += printLimits.lineCharacters) print(line.slice(at, at + printLimits.lineCharacters));
  };
  return {
    add: (text) => {
      if (room < 0) return;
      const lines = (rest + text.slice(0, room)).split('\n');
      room -= text.length;
      rest = lines.pop() ?? '';
      for (const line of lines) put(line);
      if (room >= 0) return;
      put(rest);
      rest = '';
      print(cutMark);
    },
    flush: () => {
      put(rest);
      rest = '';
      room = printLimits.characters;
    },
  };
}
