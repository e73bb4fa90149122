/** The API key of this machine: the first admin key of the template, out of its secret as an operator would read it. */
import type { SecretStore } from './secret-store.ts';
import type { Template } from './template/template.ts';

/** As the stack names it. */
const output = 'FirstKeySecretArn';

export function localKey({ template, secrets }: { readonly template: Template; readonly secrets: SecretStore }): string {
  const arn = template.outputs.get(output);
  const secret = typeof arn === 'string' ? secrets.read(arn) : undefined;
  if (secret === undefined) throw new Error(`The template's output ${output} leads to no key`);
  return secret.text;
}
