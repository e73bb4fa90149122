/** The API key of this machine: the template's first admin key, read from its secret as an operator reads it. */
import type { SecretStore } from './secret-store.ts';
import type { Template } from './template/template.ts';

/** The name of the output in the stack. */
const output = 'FirstKeySecretArn';

export function localKey({ template, secrets }: { readonly template: Template; readonly secrets: SecretStore }): string {
  const arn = template.outputs.get(output);
  const secret = typeof arn === 'string' ? secrets.read(arn) : undefined;
  if (secret === undefined) throw new Error(`The template's output ${output} names no secret that contains a key`);
  return secret.text;
}
