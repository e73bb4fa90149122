/** The template contains something that the embedded cloud does not implement. The message names where; the start stops. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}
