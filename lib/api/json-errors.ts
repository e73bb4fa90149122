/**
 * Says where a text stops being JSON. `JSON.parse` reports a position for some errors only. A parser from the registry, such as
 * jsonc-parser, adds 10 KB to the bundle of the API, which reads the text only after an error.
 */

/**
 * The first error of a text that `JSON.parse` refused, as `line 3, column 5: a comma is missing`. Lines and columns count from 1.
 * A text that is nested too deeply for the reader has no position.
 */
export function describeJsonError(text: string): string {
  try {
    // The first error ends the reading, so a hostile text costs no more.
    new JsonReader(text).readDocument();
  } catch (error) {
    if (error instanceof FirstError) return positionOf(text, error);
    if (!(error instanceof RangeError)) throw error;
  }
  return 'the text is not JSON';
}

class FirstError extends Error {
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(problem);
    this.offset = offset;
  }
}

function positionOf(text: string, { message, offset }: FirstError): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  return `line ${line}, column ${column}: ${message}`;
}

const space = /[ \t\n\r]*/y;
const numberOfJson = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** What an author may have meant as one number or one word. */
const word = /[^\s{}[\]",:]*/y;
/** JSON forbids the characters below U+0020 in strings. */
const plainCharacters = /[ !#-[\]-\uffff]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const literals: ReadonlySet<string> = new Set(['true', 'false', 'null']);

/** Reads a text by the grammar of RFC 8259 and throws a `FirstError` at the first character that does not fit. It builds no value. */
class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): void {
    this.#readValue();
    if (this.#next() !== undefined) this.#fail('the document ended before this');
  }

  #readValue(): void {
    const next = this.#next();
    if (next === '{') this.#readItems('}', 'a closing brace is missing', () => this.#readProperty());
    else if (next === '[') this.#readItems(']', 'a closing bracket is missing', () => this.#readValue());
    else if (next === '"') this.#readString();
    else if (next === undefined || ',:]}'.includes(next)) this.#fail('a value is missing');
    else this.#readWord(next);
  }

  /** @param close the character that ends the items */
  #readItems(close: string, notClosed: string, readItem: () => void): void {
    this.#at += 1;
    if (this.#next() !== close) {
      for (;;) {
        readItem();
        const next = this.#next();
        if (next === close) break;
        if (next === undefined || ']}'.includes(next)) this.#fail(notClosed);
        if (next !== ',') this.#fail('a comma is missing');
        this.#at += 1;
      }
    }
    this.#at += 1;
  }

  #readProperty(): void {
    if (this.#next() !== '"') this.#fail('a name in double quotes is missing');
    this.#readString();
    if (this.#next() !== ':') this.#fail('a colon is missing');
    this.#at += 1;
    this.#readValue();
  }

  #readString(): void {
    const start = this.#at;
    this.#at += 1;
    for (;;) {
      this.#take(plainCharacters);
      const next = this.#text[this.#at];
      if (next === '"') break;
      if (next === undefined || next === '\n' || next === '\r') this.#fail('the string does not end on its line', start);
      if (next !== '\\') this.#fail('the string has a control character; escape it');
      if (this.#take(escape) === '')
        this.#fail(
          this.#text[this.#at + 1] === 'u'
            ? 'the escape must be \\u and four hexadecimal digits'
            : 'the string has an invalid escape',
        );
    }
    this.#at += 1;
  }

  #readWord(first: string): void {
    const start = this.#at;
    const isNumber = first === '-' || (first >= '0' && first <= '9');
    const expected = isNumber ? this.#take(numberOfJson) : '';
    this.#at = start;
    const found = this.#take(word);
    if (isNumber && found !== expected) this.#fail('this is not a number of JSON', start);
    if (!isNumber && !literals.has(found)) this.#fail('this is not a JSON value; a string needs double quotes', start);
  }

  /** The next character that is not white space. */
  #next(): string | undefined {
    this.#take(space);
    if (this.#text.startsWith('//', this.#at) || this.#text.startsWith('/*', this.#at)) this.#fail('JSON has no comments');
    return this.#text[this.#at];
  }

  /** Advances behind what the sticky pattern matches; an empty text if it matches nothing. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #fail(problem: string, offset = this.#at): never {
    throw new FirstError(problem, offset);
  }
}
