/**
 * Which models there are and who moderates: the settings `models` and `moderation`, read at synthesis and again by the function.
 * They name secrets and hold none. Nodes and lenses name a model by its key; `default` is the one for those that name none.
 */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../contract/secret-arn.ts';

const secretArn = z.string().regex(secretArnPattern, secretArnMessage);
const httpsUrl = z
  .url({ protocol: /^https$/, error: 'must be a whole https address' })
  .max(500)
  .refine((text) => !/[?#@]/.test(text), 'must hold no query, no fragment and no user');

const modelArn = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:bedrock:[a-z0-9-]*:(\d{12})?:(foundation-model|inference-profile|application-inference-profile|provisioned-model|custom-model-deployment|imported-model)\/[\w.:/-]+$/,
    'must be the whole ARN of a model or of an inference profile',
  );

const guardrailArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:bedrock:[a-z0-9-]+:\d{12}:guardrail\/[a-z0-9]+$/, 'must be the whole ARN of a guardrail');

const model = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('deterministic') }),
  z
    .strictObject({
      provider: z.literal('openai'),
      /** what `/chat/completions` is added to */
      baseUrl: httpsUrl,
      model: z.string().min(1).max(200),
      /** a key for all projects */
      secretArn: secretArn.exactOptional(),
      /** or each project's own, as the setting `secrets` allows it: a project whose list lacks the name cannot use the model */
      apiKey: z
        .string()
        .regex(/^\{\{secret:[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\}\}$/, 'must be {{secret:name}}')
        .exactOptional(),
    })
    .refine(
      ({ secretArn: shared, apiKey }) => shared === undefined || apiKey === undefined,
      'may have one of secretArn and apiKey',
    ),
  z.strictObject({
    provider: z.literal('bedrock'),
    /** a model's id, or the ARN of an inference profile */
    modelId: z.string().min(1).max(300),
    /** what the worker may invoke: a profile needs its own and those of its models in every region */
    modelArns: z.array(modelArn).min(1).max(10),
  }),
]);

export const modelSetting = z.record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a model'), model);
export type ConfiguredModel = z.output<typeof model>;
export type ModelSetting = z.output<typeof modelSetting>;

export const moderationSetting = z.discriminatedUnion('provider', [
  /** nobody: a node that asks for moderation fails */
  z.strictObject({ provider: z.literal('none') }),
  /** texts that hold one of the words are stopped; for tests and first steps */
  z.strictObject({ provider: z.literal('deterministic'), words: z.array(z.string().min(1).max(100)).max(50) }),
  z.strictObject({ provider: z.literal('http'), url: httpsUrl, secretArn: secretArn.exactOptional() }),
  z.strictObject({
    provider: z.literal('bedrock-guardrail'),
    guardrailArn,
    version: z.string().regex(/^(\d{1,8}|DRAFT)$/, 'must be a number or DRAFT'),
  }),
]);
export type ModerationSetting = z.output<typeof moderationSetting>;

/** The name in an `apiKey`. */
export const secretNamedBy = (apiKey: string): string => apiKey.slice('{{secret:'.length, -'}}'.length);

/** The secrets that the settings name. */
export const secretsNamed = (models: ModelSetting, moderation: ModerationSetting): readonly string[] => [
  ...Object.values(models).flatMap((each) => ('secretArn' in each && each.secretArn !== undefined ? [each.secretArn] : [])),
  ...('secretArn' in moderation && moderation.secretArn !== undefined ? [moderation.secretArn] : []),
];

export const modelArnsNamed = (models: ModelSetting): readonly string[] => [
  ...new Set(Object.values(models).flatMap((each) => (each.provider === 'bedrock' ? each.modelArns : []))),
];
