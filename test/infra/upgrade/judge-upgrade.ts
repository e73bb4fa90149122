/** What a deployment of these templates would do to an installation of the baseline that nobody wants. */
import { isDeepStrictEqual } from 'node:util';
import { ResourceImpact, fullDiff } from '@aws-cdk/cloudformation-diff';
import * as z from 'zod';
import { type Kept, type KeptResource, type KeptStack, type Template, fixedNames, keptOf } from './baseline.ts';

/** One sentence for each harm. */
export function judgeUpgrade(baseline: Kept, today: Readonly<Record<string, Template>>): readonly string[] {
  return Object.entries(baseline).flatMap(([stack, kept]) => {
    const template = today[stack];
    if (template === undefined)
      return [`${stack}: there is no stack of this name any more. The installed one stays, and the new one starts empty.`];
    const now = keptOf(template, Object.keys(kept.Resources));
    return [...harmToResources(kept, now), ...takenNames(kept, now), ...harmToExports(kept, now)].map(
      (harm) => `${stack}: ${harm}`,
    );
  });
}

function harmToResources(kept: KeptStack, now: KeptStack): readonly string[] {
  const { changes } = fullDiff({ Resources: kept.Resources }, { Resources: now.Resources }).resources;
  return Object.entries(kept.Resources).flatMap(([id, before]) => {
    const named = `${id} (${before.Type})`;
    const after = now.Resources[id];
    if (after === undefined) return [`${named} is no longer in the template. ${fate(before, before.DeletionPolicy)}`];
    const change = changes[id];
    const replaced = change !== undefined && isReplacement(change.changeImpact);
    const causes = Object.entries(change?.propertyUpdates ?? {}).flatMap(([key, { changeImpact }]) =>
      changeImpact !== undefined && isReplacement(changeImpact) ? [key] : [],
    );
    const reason = causes.length === 0 ? 'its type changed' : `${causes.join(' and ')} changed`;
    return [
      ...(replaced ? [`${named} would be replaced, because ${reason}. ${fate(before, after.UpdateReplacePolicy)}`] : []),
      ...(replaced ? [] : harmToTable(named, before, after)),
      ...lostPolicies(named, before, after),
    ];
  });
}

const isReplacement = (impact: ResourceImpact): boolean =>
  impact === ResourceImpact.WILL_REPLACE || impact === ResourceImpact.MAY_REPLACE;

/** @param policy of the deletion or the replacement, whichever it is */
function fate({ Type }: KeptResource, policy: string | undefined): string {
  const content = contents[Type] ?? 'what it was';
  return policy?.startsWith('Retain') === true
    ? `The old one stays in the account, but the functions no longer use it: ${content} would seem to be gone.`
    : `CloudFormation deletes the old one, and ${content} with it.`;
}

const contents: Readonly<Record<string, string>> = {
  'AWS::DynamoDB::Table': 'every item',
  'AWS::S3::Bucket': 'every payload and every deployment artifact',
  'AWS::SecretsManager::Secret': 'the first admin key',
  'AWS::KMS::Key': 'the use of all that it encrypts',
  'AWS::SQS::Queue': 'every message that waits in it',
  'AWS::Scheduler::ScheduleGroup': 'every timer that is set',
  'AWS::ApiGateway::RestApi': 'the address that clients call',
  'AWS::ApiGatewayV2::Api': 'the address that sockets are opened at',
  'AWS::Events::EventBus': 'the bus that the rules of others listen to',
};

function lostPolicies(named: string, before: KeptResource, after: KeptResource): readonly string[] {
  return (['DeletionPolicy', 'UpdateReplacePolicy'] as const).flatMap((policy) => {
    if (before[policy] === undefined || before[policy] === after[policy]) return [];
    const when = policy === 'DeletionPolicy' ? 'its stack is deleted or the template lets go of it' : 'an update replaces it';
    const content = contents[before.Type] ?? 'it';
    return [`${named} loses its ${policy} ${before[policy]}: ${content} would be deleted when ${when}.`];
  });
}

const tableShape = z.looseObject({
  AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.string() })).default([]),
  GlobalSecondaryIndexes: z.array(z.looseObject({ IndexName: z.string() })).default([]),
});

/**
 * "Update requires: Some interruptions. Replacement if you edit an existing AttributeDefinition"; and of indexes, one may be made or
 * deleted by an update: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
 */
function harmToTable(named: string, before: KeptResource, after: KeptResource): readonly string[] {
  if (before.Type !== 'AWS::DynamoDB::Table') return [];
  const was = tableShape.parse(before.Properties);
  const is = tableShape.parse(after.Properties);
  const attributes = was.AttributeDefinitions.flatMap(({ AttributeName, AttributeType }) => {
    const type = is.AttributeDefinitions.find((one) => one.AttributeName === AttributeName)?.AttributeType;
    return type === undefined || type === AttributeType
      ? []
      : [`${named} would be replaced, because the type of ${AttributeName} changed. ${fate(before, after.UpdateReplacePolicy)}`];
  });
  const indexes = was.GlobalSecondaryIndexes.flatMap((index) => {
    const found = is.GlobalSecondaryIndexes.find(({ IndexName }) => IndexName === index.IndexName);
    if (found !== undefined && isDeepStrictEqual(found, index)) return [];
    return [
      found === undefined
        ? `${named} loses its index ${index.IndexName}: functions of the version before fail to read it while the deployment goes on.`
        : `${named} makes its index ${index.IndexName} again: lists that read it lack runs until DynamoDB has filled it.`,
    ];
  });
  return [...attributes, ...indexes];
}

/** CloudFormation creates a replacement before it deletes what it replaces, so both would have the name at once. */
function takenNames(kept: KeptStack, now: KeptStack): readonly string[] {
  const replaced = fullDiff({ Resources: kept.Resources }, { Resources: now.Resources }).resources.changes;
  return Object.entries(now.Resources).flatMap(([id, after]) => {
    const names = fixedNames(after);
    const isNew = kept.Resources[id] === undefined;
    const impact = replaced[id]?.changeImpact;
    if (names.length === 0 || (!isNew && (impact === undefined || !isReplacement(impact)))) return [];
    const holder = Object.entries(kept.Resources).find(
      ([, before]) => before.Type === after.Type && isDeepStrictEqual(identity(before), identity(after)),
    );
    if (holder === undefined) return [];
    const name = names.map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(', ');
    return [
      `${id} (${after.Type}) could not be created, and the deployment would roll back: ${holder[0]} has the same ${name} until it is deleted, which CloudFormation does last.`,
    ];
  });
}

/** Names, and what they are names within: a stage's name is one of its API's. */
const identity = (resource: KeptResource): unknown => [
  fixedNames(resource),
  resource.Properties['RestApiId'],
  resource.Properties['ApiId'],
];

function harmToExports(kept: KeptStack, now: KeptStack): readonly string[] {
  return Object.entries(kept.Exports).flatMap(([name, value]) => {
    if (isDeepStrictEqual(now.Exports[name], value)) return [];
    const what = name in now.Exports ? 'has another value' : 'is gone';
    return [`the export ${name} ${what}: CloudFormation refuses that while the installed stack beside it imports it.`];
  });
}
