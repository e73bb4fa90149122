/** What an installation is: its version and its settings as they were deployed, without any secret, ARN or address of the owner's network. */
import * as z from 'zod';

const namesByEnvironment = z.record(z.string(), z.array(z.string()).readonly());
const namesByProject = z.record(z.string(), namesByEnvironment);

/** The stored setting `deployed`. Synthesis writes it, and the function reads it. Names of other projects are not for its reader. */
export const deployedSettings = z.strictObject({
  version: z.string(),
  /** null: no limit */
  limits: z.record(z.string(), z.number().nullable()),
  features: z.record(z.string(), z.boolean()),
  corsOrigins: z.array(z.string()).readonly(),
  models: z.array(z.string()).readonly(),
  /** by project, then by environment or `*` */
  secrets: namesByProject,
  databases: namesByProject,
  webhooks: namesByProject,
});
export type DeployedSettings = z.output<typeof deployedSettings>;

export const installationResponse = z
  .strictObject({
    version: z.string().meta({ description: 'of Stepwell' }),
    region: z.string(),
    limits: z
      .record(z.string(), z.number().nullable())
      .meta({ description: 'numbers by the name of their setting; null: no limit' }),
    features: z.record(z.string(), z.boolean()).meta({ description: 'what is on, by the name of its setting' }),
    names: z
      .strictObject({
        corsOrigins: z.array(z.string()).readonly(),
        models: z.array(z.string()).readonly(),
        secrets: z.array(z.string()).readonly(),
        databases: z.array(z.string()).readonly(),
        webhooks: z.array(z.string()).readonly(),
      })
      .meta({ description: 'what the settings name for the project and environment of the caller; no value of a secret' }),
  })
  .meta({ id: 'Installation' });
