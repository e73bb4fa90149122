/** Parses a stream of server-sent events (HTML standard, 9.2.6) and yields the data of each event. Chunk borders may be anywhere. */

/** Limit of one line in characters. A chunk of an answer is a few words. */
const maxLineLength = 1_048_576;

/** A line exceeds the limit. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

/** @yields the `data:` lines of each event, joined; other fields are ignored */
export async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let partialLine = '';
  let data: string[] = [];
  for await (const chunk of body) {
    partialLine += decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be the first half of CRLF.
    const lines = partialLine.split(/\r\n|\n|\r(?!$)/);
    partialLine = lines.pop() ?? '';
    if (partialLine.length > maxLineLength) throw new LineTooLong('a line of the stream is too long');
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }
  // Some servers omit the final empty line. The caller detects an incomplete event.
  if (partialLine.startsWith('data:')) data.push(partialLine.slice(partialLine.startsWith('data: ') ? 6 : 5).trimEnd());
  if (data.length > 0) yield data.join('\n');
}
