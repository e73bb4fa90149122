/** Stands in for `lib/nodes/javascript/syntax.ts` in the browser, which has no `node:vm`. The server reports the syntax errors. */
export const scriptSyntaxError = (_code: string): string | undefined => undefined;
export const expressionSyntaxError = (code: string): string | undefined =>
  code.trim() === '' ? 'an expression is required' : undefined;
