/**
 * The secrets of this machine, in a file of the state folder that only its owner may read. A secret that the file does not
 * have is looked for in `secrets.json` beside it, which is the owner's to write: names or ARNs, and their texts.
 */
import { join } from 'node:path';
import * as z from 'zod';
import { readPrivate, writePrivate } from './state-files.ts';

const kept = z.object({ text: z.string(), version: z.string(), createdAt: z.number() });
const fileShape = z.record(z.string(), kept);
const ownShape = z.record(z.string(), z.string());

type KeptSecret = z.output<typeof kept>;

export interface SecretStore {
  /** by its ARN; undefined where it has no text */
  read(arn: string): KeptSecret | undefined;
  write(arn: string, secret: KeptSecret): void;
}

/** `arn:…:secret:<name>-<six letters>` */
export const secretNameIn = (arn: string): string => arn.replace(/^.*:secret:/, '').replace(/-[A-Za-z0-9]{6}$/, '');

/** The owner's texts, by name or ARN. */
export const ownSecrets = (directory: string): Readonly<Record<string, string>> =>
  ownShape.catch({}).parse(readPrivate(join(directory, 'secrets.json')));

export function openSecretStore(directory: string): SecretStore {
  const file = join(directory, 'state', 'secrets.json');
  const all = new Map(Object.entries(fileShape.catch({}).parse(readPrivate(file))));
  const own = (arn: string): KeptSecret | undefined => {
    // Read each time: whoever writes it should not have to start again.
    const texts = ownSecrets(directory);
    const text = texts[arn] ?? texts[secretNameIn(arn)];
    return text === undefined ? undefined : { text, version: 'own', createdAt: 0 };
  };
  return {
    read: (arn) => all.get(arn) ?? own(arn),
    write: (arn, secret) => {
      all.set(arn, secret);
      writePrivate(file, Object.fromEntries(all));
    },
  };
}
