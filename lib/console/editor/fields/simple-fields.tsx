/** Fields of one control: texts, numbers, choices, and values that can be text or JSON. */
import { type ReactNode, useState } from 'react';
import type { JsonValue } from '../../../engine/json.ts';
import { ModelNames } from '../../workflows/model-names.tsx';
import { acceptsSecrets } from '../catalogue.ts';
import { isModelName, labelOf } from '../field-hints.ts';
import { looseText, looseValue } from '../loose-value.ts';
import type { ControlProps, Described } from './field-view.tsx';
import { TypedText } from './typed-text.tsx';

const aria = ({ id, describedBy, isInvalid }: Described) => ({
  id,
  'aria-describedby': describedBy,
  'aria-invalid': isInvalid || undefined,
});

/** Up to this many characters, a text has one line. */
const shortText = 256;

const asText = (value: JsonValue | undefined): string => {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

export function TextField({
  named,
  value,
  onChange,
  path,
  described,
  maxLength,
}: ControlProps & { readonly maxLength: number | undefined }): ReactNode {
  const change = (text: string): void => onChange(text === '' && !named.isRequired ? undefined : text);
  const placeholder = asText(named.fallback);
  if (maxLength !== undefined && maxLength <= shortText)
    return (
      <>
        <input
          {...aria(described)}
          value={asText(value)}
          placeholder={placeholder}
          spellCheck={false}
          list={isModelName(path) ? `${described.id}-models` : undefined}
          onChange={(event) => change(event.currentTarget.value)}
        />
        {isModelName(path) ? <ModelNames id={`${described.id}-models`} /> : null}
      </>
    );
  return (
    <TypedText
      language="template"
      label={labelOf(named.name)}
      described={described}
      value={asText(value)}
      placeholder={placeholder}
      acceptsSecrets={acceptsSecrets(path)}
      onChange={change}
    />
  );
}

interface NumberLimits {
  readonly isInteger: boolean;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

export const NumberField = ({
  named,
  value,
  onChange,
  described,
  limits,
}: ControlProps & { readonly limits: NumberLimits }): ReactNode => (
  <input
    {...aria(described)}
    type="number"
    step={limits.isInteger ? 1 : 'any'}
    min={limits.minimum}
    max={limits.maximum}
    value={asText(value)}
    placeholder={asText(named.fallback)}
    onChange={({ currentTarget }) =>
      onChange(Number.isNaN(currentTarget.valueAsNumber) ? undefined : currentTarget.valueAsNumber)
    }
  />
);

/** A value that equals the default is left out. */
export const BooleanField = ({ named, value, onChange, described }: ControlProps): ReactNode => {
  const standard = named.fallback === true;
  return (
    <input
      {...aria(described)}
      type="checkbox"
      checked={typeof value === 'boolean' ? value : standard}
      onChange={({ currentTarget: { checked } }) => onChange(checked === standard ? undefined : checked)}
    />
  );
};

export const ChoiceField = ({
  named,
  value,
  onChange,
  described,
  options,
}: ControlProps & { readonly options: readonly string[] }): ReactNode => (
  <select
    {...aria(described)}
    value={asText(value)}
    onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.value)}
  >
    {named.isRequired && value !== undefined ? null : (
      <option value="">{named.fallback === undefined ? 'standard' : `${asText(named.fallback)} (standard)`}</option>
    )}
    {options.map((option) => (
      <option key={option} value={option}>
        {option}
      </option>
    ))}
  </select>
);

/** Text, a template, or JSON. What is not JSON yet stays in the field and is not taken. */
export function ValueField({ named, value, onChange, path, described }: ControlProps): ReactNode {
  const shown = value === undefined ? '' : looseText(value);
  const [draft, setDraft] = useState<string | undefined>();
  const change = (text: string): void => {
    const next = text === '' ? undefined : looseValue(text);
    setDraft(text !== '' && next === undefined ? text : undefined);
    if (text === '' && !named.isRequired) onChange(undefined);
    else if (next !== undefined || text === '') onChange(next ?? '');
  };
  return (
    <>
      <TypedText
        language="template"
        label={labelOf(named.name)}
        described={draft === undefined ? described : { ...described, isInvalid: true }}
        value={draft ?? shown}
        placeholder={named.fallback === undefined ? 'text, {{ctx.name}} or JSON' : JSON.stringify(named.fallback)}
        acceptsSecrets={acceptsSecrets(path)}
        onChange={change}
      />
      {draft === undefined ? null : (
        <p className="bad small" role="status">
          This is not JSON yet.
        </p>
      )}
    </>
  );
}

export const ScriptField = ({ named, value, onChange, described }: ControlProps): ReactNode => (
  <TypedText
    language="script"
    label={labelOf(named.name)}
    described={described}
    value={typeof value === 'string' ? value : ''}
    placeholder=""
    onChange={onChange}
  />
);
