/** The template asks for something that the embedded cloud does not know. It names the place, and stops the start. */
export class TemplateFault extends Error {
  override readonly name = 'TemplateFault';
}
