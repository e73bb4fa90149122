/** Which secrets nodes may use on this machine: those of the checkout's setting, and those in the owner's `secrets.json`. */
import * as z from 'zod';
import { arns } from './aws-environment.ts';
import { readOwnerSecrets } from './secret-store.ts';

const secretArnsByName = z.record(z.string(), z.string());
const settingShape = z.record(z.string(), z.record(z.string(), secretArnsByName)).catch({});
/** A name that `{{secret:name}}` can contain; the file may also contain ARNs and other names. */
const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/**
 * In the format of the setting `secrets`, for this machine's one project and environment. A name of the setting keeps the
 * ARN of the setting, so `secrets.json` may give its text by that ARN.
 */
export function localSecretsSetting(directory: string, configured: unknown): Readonly<Record<string, unknown>> {
  const fileSecretNames = Object.keys(readOwnerSecrets(directory)).filter((name) => secretNamePattern.test(name));
  const configuredSecrets = Object.values(settingShape.parse(configured ?? {})).flatMap((byEnvironment) =>
    Object.values(byEnvironment),
  );
  const localArns = Object.assign(
    Object.fromEntries(fileSecretNames.map((name) => [name, arns.secret(name)])),
    ...configuredSecrets,
  );
  return { default: { '*': localArns } };
}
