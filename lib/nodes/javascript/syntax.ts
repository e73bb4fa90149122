/**
 * Reads scripts without running them, so that a mistake is found when the workflow is saved, with its line.
 * V8 only compiles here; it is the sandbox's own engine that will run them, and it has the last word.
 */
import { compileFunction } from 'node:vm';

const fileName = 'script';

/** What is wrong with a script, with line and column from 1; undefined where it parses. */
export const scriptSyntaxError = (code: string): string | undefined => {
  const error = syntaxErrorIn(code, 0);
  if (error === undefined || !error.startsWith('await is only valid')) return error;
  return `${error}. Scripts run in one go: await is not available at their top level, and nothing they could call is asynchronous`;
};

/** The same for a single expression. In brackets of two kinds, so that none can close them and begin another. */
export const expressionSyntaxError = (code: string): string | undefined => {
  if (code.trim() === '') return 'An expression is expected';
  return syntaxErrorIn(`return (\n${code}\n)`, 1) ?? syntaxErrorIn(`return [\n${code}\n]`, 1);
};

/** @param linesBefore how many lines of ours stand before the author's */
function syntaxErrorIn(body: string, linesBefore: number): string | undefined {
  try {
    compileFunction(body, [], { filename: fileName });
    return undefined;
  } catch (error) {
    return error instanceof SyntaxError ? describeSyntaxError(error, linesBefore) : String(error);
  }
}

/** V8 tells the place only in the stack: `script:3`, the line itself, and a caret under the column. */
function describeSyntaxError(error: SyntaxError, linesBefore: number): string {
  const [location = '', , caret = ''] = (error.stack ?? '').split('\n');
  const line = Number(location.slice(location.lastIndexOf(':') + 1)) - linesBefore;
  const column = caret.indexOf('^') + 1;
  return Number.isNaN(line) || column === 0 ? error.message : `${error.message} at ${line}:${column}`;
}
