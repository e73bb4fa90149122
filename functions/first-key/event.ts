/** What CloudFormation asks of a custom resource, and how it is answered. */
import { defined } from '../../lib/engine/defined.ts';
import * as z from 'zod';
import { firstKeySetting, seedKeys } from '../../lib/api/schemas/seed-keys.ts';
import { secretArnPattern } from '../../lib/contract/secret-arn.ts';
import { storedSettingNames } from '../../lib/contract/stored-settings.ts';

const jsonText = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema);

const settingVersions = z.array(
  z.strictObject({ name: z.enum(storedSettingNames), version: z.string().min(1), text: z.string() }),
);

const properties = z.looseObject({
  SecretArn: z.string().regex(secretArnPattern),
  FirstKey: jsonText(firstKeySetting),
  SeedKeys: jsonText(seedKeys),
  Settings: jsonText(settingVersions),
});
export type KeyProperties = z.output<typeof properties>;

const requestFields = {
  ResponseURL: z.url({ protocol: /^https?$/ }),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
};

/** What is needed to answer at all: whatever else is wrong, CloudFormation must be told. */
export const resourceRequestShape = z.looseObject({ ...requestFields, PhysicalResourceId: z.string().exactOptional() });
export type ResourceRequest = z.output<typeof resourceRequestShape>;

export const eventShape = z.discriminatedUnion('RequestType', [
  z.looseObject({ RequestType: z.literal('Create'), ResourceProperties: properties }),
  z.looseObject({
    RequestType: z.literal('Update'),
    ResourceProperties: properties,
    OldResourceProperties: z.looseObject({
      SeedKeys: jsonText(seedKeys).catch([]),
      // A deployment of a version without stored settings has none.
      Settings: jsonText(settingVersions).catch([]),
    }),
  }),
  z.looseObject({ RequestType: z.literal('Delete') }),
]);

export type Outcome = { readonly status: 'SUCCESS' } | { readonly status: 'FAILED'; readonly reason: string };

/** One name for ever: another would make CloudFormation delete what had the old one. */
const physicalResourceId = 'stepwell-keys';

/** Puts the answer where the question says. There is nothing in it but how it went. @throws where that fails: Lambda tries again */
export async function sendResponse(request: ResourceRequest, outcome: Outcome): Promise<void> {
  const { StackId, RequestId, LogicalResourceId, PhysicalResourceId = physicalResourceId } = request;
  const body = JSON.stringify(
    defined({
      Status: outcome.status,
      Reason: outcome.status === 'FAILED' ? outcome.reason : undefined,
      StackId,
      RequestId,
      LogicalResourceId,
      PhysicalResourceId,
      NoEcho: true,
    }),
  );
  // As bytes: the address is signed for a request without a content type, and a text would bring one.
  const response = await fetch(request.ResponseURL, { method: 'PUT', body: Buffer.from(body) });
  if (!response.ok) throw new Error(`CloudFormation did not take the answer: ${response.status}`);
}
