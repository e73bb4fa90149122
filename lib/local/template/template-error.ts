/** The template asks for something that the embedded cloud does not know. It names the place, and stops the start. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}
