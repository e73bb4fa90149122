/** The custom resource protocol of CloudFormation: parses requests and sends responses. */
import { defined } from '../../lib/base/defined.ts';
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

/** The fields that a response needs. With them, even an invalid request gets a response. */
export const resourceRequestShape = z.looseObject({ ...requestFields, PhysicalResourceId: z.string().exactOptional() });
export type ResourceRequest = z.output<typeof resourceRequestShape>;

export const eventShape = z.discriminatedUnion('RequestType', [
  z.looseObject({ RequestType: z.literal('Create'), ResourceProperties: properties }),
  z.looseObject({
    RequestType: z.literal('Update'),
    ResourceProperties: properties,
    OldResourceProperties: z.looseObject({
      SeedKeys: jsonText(seedKeys).catch([]),
      // A stack of a version without stored settings sends none.
      Settings: jsonText(settingVersions).catch([]),
    }),
  }),
  z.looseObject({ RequestType: z.literal('Delete') }),
]);

export type Outcome = { readonly status: 'SUCCESS' } | { readonly status: 'FAILED'; readonly reason: string };

/** Must never change: CloudFormation deletes the resource with the old id when the id changes. */
const physicalResourceId = 'stepwell-keys';

/** Sends the response to the presigned URL of the request. It contains only the result. @throws if that fails, so that Lambda retries */
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
  // As bytes: the URL is signed for a request without a content type, and fetch adds one to a string body.
  const response = await fetch(request.ResponseURL, { method: 'PUT', body: Buffer.from(body) });
  if (!response.ok) throw new Error(`CloudFormation rejected the response of the custom resource: HTTP ${response.status}`);
}
