/**
 * Reads scripts without running them, so that a mistake is found when the workflow is saved, with its line.
 * V8 only compiles here; it is the sandbox's own engine that will run them, and it has the last word.
 */
import { compileFunction } from 'node:vm';

const fileName = 'script';

/** What is wrong with a script, with line and column from 1; undefined where it parses. */
export const scriptFault = (code: string): string | undefined => {
  const fault = faultOf(code, 0);
  if (fault === undefined || !fault.startsWith('await is only valid')) return fault;
  return `${fault}. Scripts run in one go: await is not available at their top level, and nothing they could call is asynchronous`;
};

/** The same for a single expression. In brackets of two kinds, so that none can close them and begin another. */
export const expressionFault = (code: string): string | undefined => {
  if (code.trim() === '') return 'An expression is expected';
  return faultOf(`return (\n${code}\n)`, 1) ?? faultOf(`return [\n${code}\n]`, 1);
};

/** @param linesBefore how many lines of ours stand before the author's */
function faultOf(body: string, linesBefore: number): string | undefined {
  try {
    compileFunction(body, [], { filename: fileName });
    return undefined;
  } catch (fault) {
    return fault instanceof SyntaxError ? inWords(fault, linesBefore) : String(fault);
  }
}

/** V8 tells the place only in the stack: `script:3`, the line itself, and a caret under the column. */
function inWords(fault: SyntaxError, linesBefore: number): string {
  const [place = '', , caret = ''] = (fault.stack ?? '').split('\n');
  const line = Number(place.slice(place.lastIndexOf(':') + 1)) - linesBefore;
  const column = caret.indexOf('^') + 1;
  return Number.isNaN(line) || column === 0 ? fault.message : `${fault.message} at ${line}:${column}`;
}
