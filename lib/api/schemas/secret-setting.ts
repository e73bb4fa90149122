/** The setting `secrets`: which secrets the nodes of which project may use, read at synthesis and again by the worker. */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../../contract/secret-arn.ts';
import { environmentPattern, projectIdPattern } from '../../engine/ids.ts';

/** As `{{secret:name}}` may say it. */
const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const arnSource = secretArnPattern.source.replace(/\$$/, '');
const reference = z
  .string()
  .regex(new RegExp(`${arnSource}(#.{1,128})?$`), `${secretArnMessage}, and behind a # the key where the secret is JSON`);
const environments = z.string().refine((text) => text === '*' || environmentPattern.test(text), 'must be an environment, or *');

export const secretSetting = z.record(
  z.string().regex(projectIdPattern),
  z.record(environments, z.record(z.string().regex(secretNamePattern), reference)),
);
export type SecretSetting = z.output<typeof secretSetting>;

/** What the worker is told. */
export const parseSecretSetting = (setting: z.input<typeof secretSetting>): SecretSetting => secretSetting.parse(setting);

/** The secrets themselves, each once. */
export const secretArnsIn = (setting: SecretSetting): readonly string[] => [
  ...new Set(
    Object.values(setting)
      .flatMap((byEnvironment) => Object.values(byEnvironment))
      .flatMap((byName) => Object.values(byName))
      .map((arn) => arn.replace(/#.*$/, '')),
  ),
];
