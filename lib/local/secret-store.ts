/**
 * The secrets of this machine, in a file of the state folder that only the owner may read. A secret that is not in the file
 * is read from `secrets.json` beside it. The owner writes that file: names or ARNs, and their texts.
 */
import { join } from 'node:path';
import * as z from 'zod';
import { readPrivateJson, writePrivateJson } from './instance-folder.ts';

const storedSecret = z.object({ text: z.string(), version: z.string(), createdAt: z.number() });
const fileShape = z.record(z.string(), storedSecret);
const ownerFileShape = z.record(z.string(), z.string());

type StoredSecret = z.output<typeof storedSecret>;

export interface SecretStore {
  /** by ARN; undefined where the secret has no text */
  read(arn: string): StoredSecret | undefined;
  write(arn: string, secret: StoredSecret): void;
}

/** `arn:…:secret:<name>-<six letters>` */
export const secretNameIn = (arn: string): string => arn.replace(/^.*:secret:/, '').replace(/-[A-Za-z0-9]{6}$/, '');

/** The texts of the owner's `secrets.json`, by name or ARN. */
export const readOwnerSecrets = (directory: string): Readonly<Record<string, string>> =>
  ownerFileShape.catch({}).parse(readPrivateJson(join(directory, 'secrets.json')));

export function openSecretStore(directory: string): SecretStore {
  const file = join(directory, 'state', 'secrets.json');
  const all = new Map(Object.entries(fileShape.catch({}).parse(readPrivateJson(file))));
  const readOwnerSecret = (arn: string): StoredSecret | undefined => {
    // Read each time, so that a change needs no restart.
    const texts = readOwnerSecrets(directory);
    const text = texts[arn] ?? texts[secretNameIn(arn)];
    return text === undefined ? undefined : { text, version: 'owner-file', createdAt: 0 };
  };
  return {
    read: (arn) => all.get(arn) ?? readOwnerSecret(arn),
    write: (arn, secret) => {
      all.set(arn, secret);
      writePrivateJson(file, Object.fromEntries(all));
    },
  };
}
