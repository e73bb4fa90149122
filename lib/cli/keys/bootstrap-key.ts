import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { parseKey } from '../../api/auth/key-format.ts';
import { type FoundKey, type Wanted, findFirstKey } from '../../aws/first-key.ts';
import { type Action, CliFault, exitCodes, usageFault } from '../command.ts';
import { optionsIn } from '../given.ts';
import { profileNamePattern, profilePath, readProfiles, writeProfiles } from '../profile-file.ts';

const shape = z.object({
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be a region, such as eu-west-1')
    .optional(),
  secretArn: z.string().startsWith('arn:', 'must be an ARN').optional(),
  stack: z.string().min(1).optional(),
  save: z.string().regex(profileNamePattern, 'must be the name of a profile').optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
});

/** Of the stack that holds what is stored, where the installation was given no name. */
const usualStack = 'Stepwell-Data';

export const bootstrapKey: Action = async (given, shell) => {
  const { region, secretArn, stack, save, url } = optionsIn(given, shape);
  if (secretArn !== undefined && stack !== undefined) throw usageFault('--secret-arn and --stack exclude each other.');
  const profiles = readProfiles(shell.env);
  const address = save === undefined ? undefined : (url ?? profiles.profiles[save]?.url);
  if (save !== undefined && address === undefined)
    throw usageFault(`There is no profile ${save} yet: say with --url where its installation is.`);

  const secret = secretArn === undefined ? { stack: stack ?? usualStack } : { arn: secretArn };
  const text = textOf(await find({ secret, ...(region === undefined ? {} : { region }) }), secret);
  const key = parseKey(text);
  if (key === undefined) throw new CliFault('no_key', 'The secret holds something that is no key.');
  const { keyId, environment } = key;
  if (save === undefined || address === undefined) {
    shell.note(`Key ${keyId} of ${environment}, scope admin. Make others with it, and keep this one.`);
    // Alone on stdout, so that it can be piped into a store of secrets.
    return { data: { keyId, environment, key: text }, text };
  }
  const file = join(dirname(profilePath(shell.env)), 'keys', save);
  writeKey(file, text);
  const profile = { url: address.replace(/\/+$/, ''), apiKeyFile: file };
  writeProfiles(shell.env, { ...profiles, profiles: { ...profiles.profiles, [save]: profile } });
  return {
    data: { keyId, environment, profile: save, file },
    text: `Key ${keyId} of ${environment} is in ${file}; the profile ${save} uses it.`,
  };
};

/** Nobody else may read it, also where the file was there before. */
function writeKey(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, '', { mode: 0o600 });
  chmodSync(file, 0o600);
  writeFileSync(file, `${text}\n`);
}

function textOf(found: FoundKey, secret: Wanted['secret']): string {
  switch (found.kind) {
    case 'found':
      return found.text;
    case 'no_key':
      throw new CliFault('no_key', `The secret ${found.arn} has no key yet, or does not exist: deploy the runtime stack.`);
    case 'no_secret':
      throw new CliFault(
        'no_secret',
        `No secret is that of the stack ${'stack' in secret ? secret.stack : ''}: give --secret-arn.`,
      );
  }
}

/** What AWS says is passed on: it is about credentials, regions and permissions, and the operator's to mend. */
async function find(wanted: Wanted): Promise<FoundKey> {
  try {
    return await findFirstKey(wanted);
  } catch (trouble) {
    if (!(trouble instanceof Error)) throw trouble;
    const cause = trouble.cause instanceof Error ? trouble.cause : trouble;
    const isAnswered = '$metadata' in cause && cause !== trouble.cause;
    const exitCode = isAnswered ? exitCodes.failed : exitCodes.unreachable;
    throw new CliFault('aws', `AWS: ${cause.name}: ${cause.message}`, exitCode);
  }
}
