/** The IAM statements of the roles in a template, with intrinsics as text. */
import * as z from 'zod';
import { type Resource, ofType, pointedAt } from './synthesized.ts';

const oneOrMany = z.union([z.array(z.unknown()), z.unknown().transform((value) => [value])]);

const statementSchema = z.object({
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMany.pipe(z.array(z.string())),
  Resource: oneOrMany.transform((resources) => resources.map(written)),
  Condition: z.record(z.string(), z.unknown()).default({}),
});

const policySchema = z.object({
  PolicyDocument: z.object({ Statement: z.array(statementSchema) }),
  Roles: z.array(z.unknown()),
});

export interface Granted extends z.output<typeof statementSchema> {
  /** logical id of the role */
  readonly role: string;
}

export const grantsIn = (resources: readonly Resource[]): readonly Granted[] =>
  ofType(resources, 'IAM::Policy').flatMap(({ Properties }) => {
    const { PolicyDocument, Roles } = policySchema.parse(Properties);
    return Roles.map(pointedAt).flatMap((role) => PolicyDocument.Statement.map((statement) => ({ role, ...statement })));
  });

/** Allowed actions of a role on matching resources, sorted. */
export const actionsOn = (grants: readonly Granted[], role: string, resource: RegExp): readonly string[] =>
  grants
    .filter(
      (grant) => grant.role.startsWith(role) && grant.Effect === 'Allow' && grant.Resource.some((one) => resource.test(one)),
    )
    .flatMap((grant) => grant.Action)
    .toSorted();

const selected = z.object({
  'Fn::Select': z.tuple([z.number(), z.object({ 'Fn::Split': z.tuple([z.string(), z.unknown()]) })]),
});

/** `{ 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':s3']] }` → `arn:<AWS::Partition>:s3` */
export function written(value: unknown): string {
  const { data: join } = z.object({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) }).safeParse(value);
  if (join !== undefined) return join['Fn::Join'][1].map(written).join(join['Fn::Join'][0]);
  const { data: part } = selected.safeParse(value);
  if (part !== undefined) return `${written(part['Fn::Select'][1]['Fn::Split'][1]).slice(0, -1)} part ${part['Fn::Select'][0]}>`;
  const { data: imported } = z.object({ 'Fn::ImportValue': z.string() }).safeParse(value);
  if (imported !== undefined) return `<${imported['Fn::ImportValue']}>`;
  if (typeof value === 'string') return value;
  const { data: attribute } = z.object({ 'Fn::GetAtt': z.array(z.string()) }).safeParse(value);
  if (attribute !== undefined) return `<${attribute['Fn::GetAtt'].join('.')}>`;
  return `<${z.object({ Ref: z.string() }).parse(value).Ref}>`;
}
