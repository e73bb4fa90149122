/**
 * Settings that may be large. Lambda allows 4,096 bytes of environment variables, so a variable names a version of the
 * setting. The deployment writes the version's text as an item of the control table. No setting contains a secret.
 */
export const storedSettingNames = [
  'webhooks',
  'secrets',
  'models',
  'moderation',
  'databases',
  'codeVariables',
  'console',
  'triggers',
  'deployed',
] as const;
export type StoredSettingName = (typeof storedSettingNames)[number];
