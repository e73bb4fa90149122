/** `stepwell keys bootstrap`: reads the first admin key of an installation from Secrets Manager. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { parseKey } from '../../api/auth.ts';
import { findFirstKey, type FirstKeyLocation, type FoundKey } from '../../aws/first-key.ts';
import { type Action, CliError, exitCodes, usageError } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { profileNamePattern, profilePath, readProfiles, writeProfiles } from '../profile-file.ts';
import { defined } from '../../base/defined.ts';

const bootstrapKeyOptions = z.object({
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be a region, such as eu-west-1')
    .optional(),
  secretArn: z.string().startsWith('arn:', 'must be an ARN').optional(),
  stack: z.string().min(1).optional(),
  save: z.string().regex(profileNamePattern, 'must be the name of a profile').optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
});

/** Default name of the data stack. */
const defaultStack = 'Stepwell-Data';

export const bootstrapKey: Action = async (commandLine, context) => {
  const { region, secretArn, stack, save, url } = parseOptions(commandLine, bootstrapKeyOptions);
  if (secretArn !== undefined && stack !== undefined) throw usageError('--secret-arn and --stack exclude each other.');
  const profiles = readProfiles(context.env);
  const address = save === undefined ? undefined : (url ?? profiles.profiles[save]?.url);
  if (save !== undefined && address === undefined)
    throw usageError(`There is no profile ${save} yet: give the address of its installation with --url.`);

  const secret = secretArn === undefined ? { stack: stack ?? defaultStack } : { arn: secretArn };
  const text = textOf(await findKey(defined({ secret, region })), secret);
  const key = parseKey(text);
  if (key === undefined) throw new CliError('no_key', 'The secret does not contain a valid API key.');
  const { keyId, environment } = key;
  if (save === undefined || address === undefined) {
    context.log(`Key ${keyId} of ${environment}, scope admin. Use it to create other keys, and store it safely.`);
    // stdout contains only the key, so that it can be piped into a secret store.
    return { data: { keyId, environment, key: text }, text };
  }
  const file = join(dirname(profilePath(context.env)), 'keys', save);
  writeKey(file, text);
  const profile = { url: address.replace(/\/+$/, ''), apiKeyFile: file };
  writeProfiles(context.env, { ...profiles, profiles: { ...profiles.profiles, [save]: profile } });
  return {
    data: { keyId, environment, profile: save, file },
    text: `Key ${keyId} of ${environment} is in ${file}; the profile ${save} uses it.`,
  };
};

/** Sets the permissions before the key is written, also if the file exists already. */
function writeKey(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, '', { mode: 0o600 });
  chmodSync(file, 0o600);
  writeFileSync(file, `${text}\n`);
}

function textOf(found: FoundKey, secret: FirstKeyLocation['secret']): string {
  switch (found.kind) {
    case 'found':
      return found.text;
    case 'no_key':
      throw new CliError('no_key', `The secret ${found.arn} has no key yet, or does not exist: deploy the runtime stack.`);
    case 'no_secret':
      throw new CliError('no_secret', `The stack ${'stack' in secret ? secret.stack : ''} has no key secret: use --secret-arn.`);
  }
}

/** Reports AWS errors unchanged: they concern credentials, regions or permissions, which the operator must fix. */
async function findKey(wanted: FirstKeyLocation): Promise<FoundKey> {
  try {
    return await findFirstKey(wanted);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const cause = error.cause instanceof Error ? error.cause : error;
    const hasResponse = '$metadata' in cause && cause !== error.cause;
    const exitCode = hasResponse ? exitCodes.failed : exitCodes.unreachable;
    throw new CliError('aws', `AWS: ${cause.name}: ${cause.message}`, exitCode);
  }
}
