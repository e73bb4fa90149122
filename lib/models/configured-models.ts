/** The configured models, by the name that lenses use. A provider is created at its first use. */
import { type DurationMs, between } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Attachment, ModelResponse, ModelCall, ModelProvider, ModelRequest, Models } from '../ports/models.ts';
import type { ConfiguredModel, ModelSetting } from './setting.ts';

export type ProviderOf = (model: ConfiguredModel) => Promise<ModelProvider>;

export class ConfiguredModels implements Models {
  readonly #setting: () => Promise<ModelSetting>;
  readonly #providerOf: ProviderOf;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #providers = new Map<string, Promise<ModelProvider>>();

  constructor(setting: () => Promise<ModelSetting>, providerOf: ProviderOf, clock: Pick<Clock, 'now'>) {
    this.#setting = setting;
    this.#providerOf = providerOf;
    this.#clock = clock;
  }

  async attachmentError(modelId: string, kinds: readonly Attachment['kind'][]): Promise<string | undefined> {
    const provider = await this.#providerFor(modelId);
    return kinds.map((kind) => provider?.attachmentError(kind)).find((refusal) => refusal !== undefined);
  }

  async execute({ modelId, ...request }: ModelRequest, call: ModelCall): Promise<ModelResponse> {
    const provider = await this.#providerFor(modelId);
    if (provider === undefined) {
      const message = `no model ${modelId} is configured; add it to the setting "models"`;
      return { kind: 'failed', cause: 'invalid', code: 'model_unknown', message };
    }
    const startedAt = this.#clock.now();
    const answer = await provider.execute(request, call);
    const durationMs: DurationMs = between(startedAt, this.#clock.now());
    return answer.kind === 'completed' ? { ...answer, durationMs } : answer;
  }

  async #providerFor(modelId: string): Promise<ModelProvider | undefined> {
    const setting = await this.#setting();
    const model = Object.hasOwn(setting, modelId) ? setting[modelId] : undefined;
    if (model === undefined) return undefined;
    const provider = this.#providers.get(modelId) ?? this.#providerOf(model);
    this.#providers.set(modelId, provider);
    return provider;
  }
}
