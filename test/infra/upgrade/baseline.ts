/**
 * What an upgrade must keep, taken from the templates: what holds data, what others know by its address, and what has a fixed name.
 * Of each only the properties that CloudFormation answers with a replacement ("Update requires: Replacement" in its reference, as
 * `@aws-cdk/aws-service-spec` has it), and the tables' indexes.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAwsServiceSpecSync } from '@aws-cdk/aws-service-spec';
import * as z from 'zod';
import { stacksWith } from '../synthesized.ts';

const resourceShape = z.strictObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().exactOptional(),
  UpdateReplacePolicy: z.string().exactOptional(),
});
export type KeptResource = z.output<typeof resourceShape>;

const stackShape = z.strictObject({
  Resources: z.record(z.string(), resourceShape),
  /** values that other stacks import, by name: CloudFormation refuses to change or remove one that is in use */
  Exports: z.record(z.string(), z.unknown()),
});
export type KeptStack = z.output<typeof stackShape>;
/** By the names of the stacks. */
export type Kept = Readonly<Record<string, KeptStack>>;

const templateShape = z.looseObject({
  Resources: z.record(z.string(), z.object(resourceShape.shape)),
  Outputs: z
    .record(z.string(), z.looseObject({ Value: z.unknown(), Export: z.object({ Name: z.unknown() }).exactOptional() }))
    .default({}),
});
export type Template = z.output<typeof templateShape>;

/** What is in them cannot be made again, or not at once. */
const holdsData: ReadonlySet<string> = new Set([
  'AWS::DynamoDB::Table',
  'AWS::DynamoDB::GlobalTable',
  'AWS::KMS::Key',
  'AWS::S3::Bucket',
  'AWS::Scheduler::ScheduleGroup',
  'AWS::SecretsManager::Secret',
  'AWS::SQS::Queue',
]);
/** Clients and subscribers know them by an id that a replacement changes. */
const isKnownOutside: ReadonlySet<string> = new Set([
  'AWS::ApiGateway::RestApi',
  'AWS::ApiGatewayV2::Api',
  'AWS::Events::EventBus',
]);
/** Beside what CloudFormation answers with a replacement: a deleted index is empty until DynamoDB has filled its successor. */
const alsoKept: Readonly<Record<string, readonly string[]>> = {
  'AWS::DynamoDB::Table': ['AttributeDefinitions', 'GlobalSecondaryIndexes'],
};

const spec = loadAwsServiceSpecSync();
const specOf = (type: string) => spec.lookup('resource', 'cloudFormationType', 'equals', type)[0];

/** The names that the template gives a resource itself. A second one of the same type cannot have them. */
export function fixedNames({ Type, Properties }: KeptResource): readonly (readonly [string, unknown])[] {
  const identifier = specOf(Type)?.primaryIdentifier ?? [];
  return identifier.flatMap((key) => {
    const value = Properties[key];
    return !key.endsWith('Name') || value === undefined || refersToResource(value) ? [] : [[key, value] as const];
  });
}

/** What is made from ids of the account or the stack alone is as fixed as a text. */
const refersToResource = (value: unknown): boolean => /"(?:Ref":"(?!AWS::)|Fn::GetAtt")/.test(JSON.stringify(value));

function keptProperties({ Type, Properties }: KeptResource): Readonly<Record<string, unknown>> {
  const known = specOf(Type)?.properties ?? {};
  const isKept = (key: string): boolean =>
    (known[key]?.causesReplacement ?? 'no') !== 'no' || alsoKept[Type]?.includes(key) === true;
  return Object.fromEntries(Object.entries(Properties).filter(([key]) => isKept(key)));
}

/** A policy to delete is no promise that an upgrade could break. */
const keptPart = ({ Type, Properties, ...policies }: KeptResource): KeptResource => ({
  Type,
  Properties: keptProperties({ Type, Properties }),
  ...Object.fromEntries(Object.entries(policies).filter(([, policy]) => policy.startsWith('Retain'))),
});

const isKept = (resource: KeptResource): boolean =>
  holdsData.has(resource.Type) ||
  isKnownOutside.has(resource.Type) ||
  resource.DeletionPolicy?.startsWith('Retain') === true ||
  fixedNames(resource).length > 0;

/** @param also logical ids that always count: those of the baseline */
export function keptOf(template: Template, also: readonly string[] = []): KeptStack {
  const kept = Object.entries(template.Resources).filter(([id, resource]) => isKept(resource) || also.includes(id));
  const exported = Object.values(template.Outputs).flatMap(({ Value, Export }) =>
    Export === undefined ? [] : [[String(Export.Name), Value] as const],
  );
  return {
    Resources: Object.fromEntries(kept.map(([id, resource]) => [id, keptPart(resource)])),
    Exports: Object.fromEntries(exported),
  };
}

/** The stacks as they are deployed without settings, by their names. */
export function templatesToday(): Readonly<Record<string, Template>> {
  const { app, data, runtime } = stacksWith();
  const { directory } = app.synth();
  return Object.fromEntries(
    [data, runtime].map((stack) => [
      stack.stackName,
      templateShape.parse(JSON.parse(readFileSync(join(directory, stack.templateFile), 'utf8'))),
    ]),
  );
}

export const baselineFile = new URL('baseline.json', import.meta.url);

export const readBaseline = (): Kept => z.record(z.string(), stackShape).parse(JSON.parse(readFileSync(baselineFile, 'utf8')));
