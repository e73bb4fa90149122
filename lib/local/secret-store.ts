/**
 * The secrets of this machine, in a file of the state folder that only its owner may read. A secret that the file does not
 * have is looked for in `secrets.json` beside it, which is the owner's to write: names or ARNs, and their texts.
 */
import { join } from 'node:path';
import * as z from 'zod';
import { readPrivateJson, writePrivateJson } from './state-files.ts';

const storedSecret = z.object({ text: z.string(), version: z.string(), createdAt: z.number() });
const fileShape = z.record(z.string(), storedSecret);
const ownerFileShape = z.record(z.string(), z.string());

type StoredSecret = z.output<typeof storedSecret>;

export interface SecretStore {
  /** by its ARN; undefined where it has no text */
  read(arn: string): StoredSecret | undefined;
  write(arn: string, secret: StoredSecret): void;
}

/** `arn:…:secret:<name>-<six letters>` */
export const secretNameIn = (arn: string): string => arn.replace(/^.*:secret:/, '').replace(/-[A-Za-z0-9]{6}$/, '');

/** The owner's texts, by name or ARN. */
export const readOwnerSecrets = (directory: string): Readonly<Record<string, string>> =>
  ownerFileShape.catch({}).parse(readPrivateJson(join(directory, 'secrets.json')));

export function openSecretStore(directory: string): SecretStore {
  const file = join(directory, 'state', 'secrets.json');
  const all = new Map(Object.entries(fileShape.catch({}).parse(readPrivateJson(file))));
  const readOwnerSecret = (arn: string): StoredSecret | undefined => {
    // Read each time: whoever writes it should not have to start again.
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
