/** What an installation is, and what it offers to workflows: from its settings as they were deployed, without any secret, ARN or address of the owner's network. */
import * as z from 'zod';

const names = z.array(z.string()).readonly();
const namesByEnvironment = z.record(z.string(), names);
const namesByProject = z.record(z.string(), namesByEnvironment);

/** The stored setting `deployed`. Synthesis writes it, and the function reads it. Names of other projects are not for its reader. */
export const deployedSettings = z.strictObject({
  version: z.string(),
  /** null: no limit */
  limits: z.record(z.string(), z.number().nullable()),
  features: z.record(z.string(), z.boolean()),
  choices: z.record(z.string(), z.string()),
  corsOrigins: names,
  models: names,
  /** by project, then by environment or `*` */
  secrets: namesByProject,
  databases: namesByProject,
  webhooks: namesByProject,
  triggers: namesByProject,
});
export type DeployedSettings = z.output<typeof deployedSettings>;

export const catalogueResponse = z
  .strictObject({
    secrets: names.meta({ description: 'the names that `{{secret:name}}` can have' }),
    models: names.meta({ description: 'for lenses and the nodes that use them' }),
    databases: names.meta({ description: 'for the `connection` of a query of the kind `aurora`' }),
  })
  .meta({ id: 'Catalogue' });

export const installationResponse = z
  .strictObject({
    version: z.string().meta({ description: 'of Stepwell' }),
    region: z.string(),
    limits: z
      .record(z.string(), z.number().nullable())
      .meta({ description: 'numbers by the name of their setting; null: no limit' }),
    features: z.record(z.string(), z.boolean()).meta({ description: 'what is on, by the name of its setting' }),
    choices: z.record(z.string(), z.string()).meta({ description: 'words by the name of their setting' }),
    names: z
      .strictObject({
        corsOrigins: names,
        models: names,
        secrets: names,
        databases: names,
        webhooks: names,
        triggers: names,
      })
      .meta({ description: 'what the settings name for the project and environment of the caller; no value of a secret' }),
  })
  .meta({ id: 'Installation' });
