/** The setting `codePermissions`: actions and resources that deployed code may use. */
import * as iam from 'aws-cdk-lib/aws-iam';
import * as z from 'zod';
import { acknowledgeWildcard } from '../constructs/statements.ts';

const action = z.string().regex(/^[a-z0-9-]+:[A-Za-z]+$/, 'must be one action of a service, such as s3:GetObject');
const resource = z.string().regex(/^arn:[^:]*:[a-z0-9-]+:.+/, 'must be an ARN that names the service');

export const codePermissionSetting = z.array(
  z.strictObject({ actions: z.array(action).min(1), resources: z.array(resource).min(1) }),
);

export const statementsOf = (setting: z.output<typeof codePermissionSetting>): readonly iam.PolicyStatement[] =>
  setting.map(({ actions, resources }) => new iam.PolicyStatement({ actions, resources }));

/** Acknowledges wildcards that the owner wrote into the setting. */
export function acknowledgeOwnerWildcards(role: iam.Role, setting: z.output<typeof codePermissionSetting>): void {
  for (const one of new Set(setting.flatMap(({ resources }) => resources).filter((arn) => arn.includes('*'))))
    acknowledgeWildcard(
      role,
      one,
      'The owner of the installation grants this to deployed code with the setting codePermissions.',
    );
}
