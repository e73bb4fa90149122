/** The setting `secrets`: the secrets that the nodes of each project may use. Synthesis and the worker read it. */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../../contract/secret-arn.ts';
import { environmentPattern, projectIdPattern } from '../../engine/ids.ts';

/** The name in `{{secret:name}}`. */
const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const arnSource = secretArnPattern.source.replace(/\$$/, '');
const reference = z
  .string()
  .regex(new RegExp(`${arnSource}(#.{1,128})?$`), `${secretArnMessage}, optionally followed by # and a key of a JSON secret`);
const environments = z.string().refine((text) => text === '*' || environmentPattern.test(text), 'must be an environment, or *');

export const secretSetting = z.record(
  z.string().regex(projectIdPattern),
  z.record(environments, z.record(z.string().regex(secretNamePattern), reference)),
);
export type SecretSetting = z.output<typeof secretSetting>;

/** Parses the setting for the worker. */
export const parseSecretSetting = (setting: z.input<typeof secretSetting>): SecretSetting => secretSetting.parse(setting);

/** Distinct ARNs of the secrets. */
export const secretArnsIn = (setting: SecretSetting): readonly string[] => [
  ...new Set(
    Object.values(setting)
      .flatMap((byEnvironment) => Object.values(byEnvironment))
      .flatMap((byName) => Object.values(byName))
      .map((arn) => arn.replace(/#.*$/, '')),
  ),
];
