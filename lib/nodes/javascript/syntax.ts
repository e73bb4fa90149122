/**
 * Checks the syntax of scripts without running them, so that saving a workflow reports syntax errors with their line.
 * V8 only compiles the script. The sandbox runs it with QuickJS, which decides in the end.
 */
import { compileFunction } from 'node:vm';

const fileName = 'script';

/** The syntax error of a script, with line and column from 1; undefined when it parses. */
export const scriptSyntaxError = (code: string): string | undefined => {
  const error = syntaxErrorIn(code, 0);
  if (error === undefined || !error.startsWith('await is only valid')) return error && withTemplateHint(error, code);
  return `${error}. Scripts run synchronously: top-level await is not available, and no asynchronous function exists`;
};

/** The same for an expression. It is compiled inside parentheses and brackets, so that it cannot close either and add more code. */
export const expressionSyntaxError = (code: string): string | undefined => {
  if (code.trim() === '') return 'an expression is required';
  const error = syntaxErrorIn(`return (\n${code}\n)`, 1) ?? syntaxErrorIn(`return [\n${code}\n]`, 1);
  return error && withTemplateHint(error, code);
};

const template = /\{\{\s*(ctx\b[^{}]{0,100}?)\s*\}\}/;

/** Templates are for the other settings, so authors try them in scripts too. */
function withTemplateHint(error: string, code: string): string {
  const path = template.exec(code)?.[1];
  return path === undefined ? error : `${error}. A script has no templates: write ${path}, not {{${path}}}`;
}

/** @param linesBefore number of generated lines before the author's code */
function syntaxErrorIn(body: string, linesBefore: number): string | undefined {
  try {
    compileFunction(body, [], { filename: fileName });
    return undefined;
  } catch (error) {
    return error instanceof SyntaxError ? describeSyntaxError(error, linesBefore) : String(error);
  }
}

/** V8 reports the location only in the stack: `script:3`, the line itself, and a caret under the column. */
function describeSyntaxError(error: SyntaxError, linesBefore: number): string {
  const [location = '', , caret = ''] = (error.stack ?? '').split('\n');
  const line = Number(location.slice(location.lastIndexOf(':') + 1)) - linesBefore;
  const column = caret.indexOf('^') + 1;
  return Number.isNaN(line) || column === 0 ? error.message : `${error.message} at ${line}:${column}`;
}
