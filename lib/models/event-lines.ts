/** The data of a stream of server-sent events, one event at a time (HTML standard, 9.2.6), whatever way its bytes were cut. */

/** Of one line, in characters: a part of an answer is a few words. */
const maxLineLength = 1_048_576;

/** A line that goes on for ever, which no stream of events has. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

/** @yields what the `data:` lines of each event say; other fields are passed over */
export async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let partialLine = '';
  let data: string[] = [];
  for await (const chunk of body) {
    partialLine += decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be half of a line's end.
    const lines = partialLine.split(/\r\n|\n|\r(?!$)/);
    partialLine = lines.pop() ?? '';
    if (partialLine.length > maxLineLength) throw new LineTooLong('a line of the stream has no end');
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }
  // Some end their stream without the empty line; an event that broke off is found out by whoever reads it.
  if (partialLine.startsWith('data:')) data.push(partialLine.slice(partialLine.startsWith('data: ') ? 6 : 5).trimEnd());
  if (data.length > 0) yield data.join('\n');
}
