/**
 * Settings that may be large. Lambda takes 4,096 bytes of environment variables, so a variable names a version of the setting, and
 * the version's text is an item of the control table that the deployment writes. None of them holds a secret.
 */
export const storedSettingNames = ['webhooks', 'secrets', 'models', 'moderation', 'databases', 'codeVariables'] as const;
export type StoredSettingName = (typeof storedSettingNames)[number];
