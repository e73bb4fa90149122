/** Says where a text stops being JSON. `JSON.parse` reports a position for some errors only, so a second parser finds it. */
import { printParseErrorCode, visit } from 'jsonc-parser';

/** By the names of the parser's error codes. */
const problems: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is not a JSON value; a string needs double quotes',
  InvalidNumberFormat: 'this is not a number of JSON',
  PropertyNameExpected: 'a name in double quotes is missing',
  ValueExpected: 'a value is missing',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: 'a closing brace is missing',
  CloseBracketExpected: 'a closing bracket is missing',
  EndOfFileExpected: 'the document ended before this',
  InvalidCommentToken: 'JSON has no comments',
  UnexpectedEndOfComment: 'JSON has no comments',
  UnexpectedEndOfString: 'the string does not end on its line',
  UnexpectedEndOfNumber: 'the number is incomplete',
  InvalidUnicode: 'the escape must be \\u and four hexadecimal digits',
  InvalidEscapeCharacter: 'the string has an invalid escape',
  InvalidCharacter: 'the string has a control character; escape it',
};

/**
 * The first error of a text that `JSON.parse` refused, as `line 3, column 5: a comma is missing`. Lines and columns count from 1.
 * A text that is nested too deeply for the parser has no position.
 */
export function describeJsonError(text: string): string {
  try {
    // The first error ends the parsing, so a hostile text costs no more.
    const onError = (code: number, offset: number): never => {
      throw new FirstError(problems[printParseErrorCode(code)] ?? 'this is not JSON', offset);
    };
    visit(text, { onError }, { disallowComments: true, allowTrailingComma: false });
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
