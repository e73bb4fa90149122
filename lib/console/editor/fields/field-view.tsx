/**
 * The fields of a form, by their kinds. Each edit gives the whole new value of a field; undefined removes it. Fields are inside fields, so
 * they are in one file.
 */
import { type ReactNode, useId, useState } from 'react';
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../../../engine/json.ts';
import { Icon } from '../../primitives/icon.tsx';
import { helpOf, isOlder, isScript, labelOf } from '../field-hints.ts';
import { type Field, type NamedField, fits, initialOf } from '../field-schema.ts';
import { type PlacedFinding, findingsAt } from '../findings.ts';
import { BooleanField, ChoiceField, NumberField, ScriptField, TextField, ValueField } from './simple-fields.tsx';

interface FieldProps {
  readonly named: NamedField;
  readonly value: JsonValue | undefined;
  readonly onChange: (value: JsonValue | undefined) => void;
  /** the type of the node, and the names of the fields around it, without the indexes of arrays */
  readonly path: readonly string[];
  /** the steps to the value in the config */
  readonly place: readonly string[];
  /** of the node */
  readonly findings: readonly PlacedFinding[];
}

/** What each control needs of its label and its findings. */
export interface Described {
  readonly id: string;
  readonly describedBy: string | undefined;
  readonly isInvalid: boolean;
}

const compound: readonly string[] = ['array', 'object', 'record', 'variants'];

function FieldView(props: FieldProps): ReactNode {
  const id = useId();
  const { named, path, place, findings } = props;
  const own = findingsAt(findings, ['config', ...place]);
  const help = helpOf(path);
  const describedBy = [...(help === undefined ? [] : [`${id}-help`]), ...(own.length === 0 ? [] : [`${id}-findings`])].join(' ');
  const described: Described = {
    id,
    describedBy: describedBy === '' ? undefined : describedBy,
    isInvalid: own.some(({ severity }) => severity === 'error'),
  };
  const label = (
    <>
      {labelOf(named.name)}
      {named.isRequired ? <span className="dim small"> required</span> : null}
    </>
  );
  const notes = (
    <>
      {help === undefined ? null : (
        <p className="help" id={`${id}-help`}>
          {help}
        </p>
      )}
      <FieldFindings id={`${id}-findings`} findings={own} />
    </>
  );
  if (compound.includes(named.field.kind))
    return (
      <fieldset className="field">
        <legend>{label}</legend>
        {notes}
        <Control {...props} described={described} />
      </fieldset>
    );
  return (
    <div className={named.field.kind === 'boolean' ? 'field check-field' : 'field'}>
      <label htmlFor={id}>{label}</label>
      <Control {...props} described={described} />
      {notes}
    </div>
  );
}

export const FieldFindings = ({
  id,
  findings,
}: {
  readonly id: string;
  readonly findings: readonly PlacedFinding[];
}): ReactNode =>
  findings.length === 0 ? null : (
    <ul className="field-findings" id={id}>
      {findings.map(({ message, severity }) => (
        <li key={message} className={severity === 'error' ? 'bad' : 'wait'}>
          {message}
        </li>
      ))}
    </ul>
  );

export interface ControlProps extends FieldProps {
  readonly described: Described;
}

function Control(props: ControlProps): ReactNode {
  const { named, path, value, onChange, place, findings } = props;
  const { field } = named;
  switch (field.kind) {
    case 'text':
      return isScript(path) ? <ScriptField {...props} /> : <TextField {...props} maxLength={field.maxLength} />;
    case 'number':
      return <NumberField {...props} limits={field} />;
    case 'boolean':
      return <BooleanField {...props} />;
    case 'choice':
      return <ChoiceField {...props} options={field.options} />;
    case 'constant':
      return <code id={props.described.id}>{JSON.stringify(field.value)}</code>;
    case 'value':
      return <ValueField {...props} />;
    case 'array':
      return <ArrayField {...props} items={field.items} />;
    case 'record':
      return <RecordField {...props} values={field.values} />;
    case 'variants':
      return <VariantsField {...props} variants={field.variants} />;
    case 'object':
      return (
        <ObjectFields fields={field.fields} value={value} onChange={onChange} path={path} place={place} findings={findings} />
      );
  }
}

interface ObjectFieldsProps {
  readonly fields: readonly NamedField[];
  readonly value: JsonValue | undefined;
  readonly onChange: (value: JsonObject) => void;
  readonly path: readonly string[];
  readonly place: readonly string[];
  readonly findings: readonly PlacedFinding[];
  /** false: keys that are not in `fields` belong to another form */
  readonly hasOthers?: boolean;
}

/** Undefined removes the key. */
function withKey(object: JsonObject, key: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return { ...object, [key]: value };
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

export function ObjectFields({ fields, value, onChange, path, place, findings, hasOthers = true }: ObjectFieldsProps): ReactNode {
  const object = isJsonObject(value) ? value : {};
  const others = hasOthers ? Object.keys(object).filter((key) => !fields.some(({ name }) => name === key)) : [];
  const shown = fields.filter(({ name }) => Object.hasOwn(object, name) || !isOlder([...path, name]));
  const unknown = others.map((name): NamedField => ({ name, field: { kind: 'value' }, isRequired: false, fallback: undefined }));
  return (
    <div className="fields">
      {[...shown, ...unknown].map((named) => (
        <FieldView
          key={named.name}
          named={named}
          value={Object.hasOwn(object, named.name) ? object[named.name] : undefined}
          onChange={(next) => onChange(withKey(object, named.name, next))}
          path={[...path, named.name]}
          place={[...place, named.name]}
          findings={findings}
        />
      ))}
    </div>
  );
}

/** Plural names of lists, for the button that adds one. */
const singular = (name: string): string => labelOf(name).replace(/ches$/, 'ch').replace(/s$/, '').toLowerCase();

function ArrayField({ items, ...props }: ControlProps & { readonly items: Field }): ReactNode {
  const { named, value, onChange } = props;
  const values = isJsonArray(value) ? value : [];
  if (items.kind === 'choice') return <Choices options={items.options} values={values} onChange={onChange} />;
  const change = (next: readonly JsonValue[]): void => onChange(next.length === 0 && !named.isRequired ? undefined : next);
  const name = singular(named.name);
  return (
    <>
      <ol className="items">
        {values.map((each, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- the values of a definition have no keys of their own
          <li key={index} className="item">
            <div className="item-head">
              <span className="dim small">
                {name} {index + 1}
              </span>
              <span className="actions end">
                {index === 0 ? null : (
                  <button
                    type="button"
                    className="quiet"
                    aria-label={`Move ${name} ${index + 1} up`}
                    onClick={() => change(values.toSpliced(index - 1, 2, each, values[index - 1] ?? null))}
                  >
                    <Icon name="up" />
                  </button>
                )}
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Remove ${name} ${index + 1}`}
                  onClick={() => change(values.toSpliced(index, 1))}
                >
                  <Icon name="cross" />
                </button>
              </span>
            </div>
            <Item {...props} items={items} each={each} index={index} onItem={(next) => change(values.with(index, next ?? ''))} />
          </li>
        ))}
      </ol>
      <button type="button" className="more" onClick={() => change([...values, initialOf(items)])}>
        + {name}
      </button>
    </>
  );
}

interface ItemProps extends ControlProps {
  readonly items: Field;
  readonly each: JsonValue;
  readonly index: number;
  readonly onItem: (value: JsonValue | undefined) => void;
}

const Item = ({ items, each, index, onItem, ...props }: ItemProps): ReactNode => (
  <Control
    {...props}
    named={{ name: `${props.named.name} ${index + 1}`, field: items, isRequired: true, fallback: undefined }}
    value={each}
    onChange={onItem}
    place={[...props.place, String(index)]}
    described={{ id: `${props.described.id}-${index}`, describedBy: undefined, isInvalid: false }}
  />
);

interface ChoicesProps {
  readonly options: readonly string[];
  readonly values: readonly JsonValue[];
  readonly onChange: (value: JsonValue | undefined) => void;
}

const Choices = ({ options, values, onChange }: ChoicesProps): ReactNode => (
  <div className="choices">
    {options.map((option) => (
      <label key={option} className="check">
        <input
          type="checkbox"
          checked={values.includes(option)}
          onChange={({ currentTarget: { checked } }) => {
            const next = checked ? [...values, option] : values.filter((each) => each !== option);
            onChange(next.length === 0 ? undefined : next);
          }}
        />
        {option}
      </label>
    ))}
  </div>
);

function RecordField({ values, ...props }: ControlProps & { readonly values: Field }): ReactNode {
  const { value, onChange, described, place, findings } = props;
  const object = isJsonObject(value) ? value : {};
  const change = (next: typeof object): void => onChange(Object.keys(next).length === 0 ? undefined : next);
  return (
    <>
      {Object.entries(object).map(([name, each]) => (
        <div key={name} className="pair">
          <code className="pair-name" id={`${described.id}-${name}-name`}>
            {name}
          </code>
          <span role="group" aria-labelledby={`${described.id}-${name}-name`} className="pair-value">
            <Control
              {...props}
              named={{ name, field: values, isRequired: true, fallback: undefined }}
              value={each}
              onChange={(next) => change({ ...object, [name]: next ?? '' })}
              place={[...place, name]}
              described={{ id: `${described.id}-${name}`, describedBy: undefined, isInvalid: false }}
            />
            <label className="hidden" htmlFor={`${described.id}-${name}`}>
              {name}
            </label>
            <FieldFindings id={`${described.id}-${name}-findings`} findings={findingsAt(findings, ['config', ...place, name])} />
          </span>
          <button
            type="button"
            className="quiet"
            aria-label={`Remove ${name}`}
            onClick={() => change(withKey(object, name, undefined))}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <NewName id={described.id} onAdd={(name) => change({ ...object, [name]: object[name] ?? initialOf(values) })} />
    </>
  );
}

function NewName({ id, onAdd }: { readonly id: string; readonly onAdd: (name: string) => void }): ReactNode {
  const [name, setName] = useState('');
  const add = (): void => {
    if (name.trim() === '') return;
    onAdd(name.trim());
    setName('');
  };
  return (
    <div className="pair new">
      <input
        id={id}
        aria-label="New name"
        placeholder="name"
        value={name}
        spellCheck={false}
        onChange={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add();
        }}
      />
      <button type="button" className="more" onClick={add} disabled={name.trim() === ''}>
        + add
      </button>
    </div>
  );
}

/** `false`, `a number`, or the constant that tells the form apart. */
function nameOf(field: Field): string {
  if (field.kind === 'constant') return field.value === false ? 'never' : JSON.stringify(field.value);
  if (field.kind !== 'object') return `a ${field.kind}`;
  const constants = field.fields.flatMap(({ field: own }) =>
    own.kind === 'constant' ? [typeof own.value === 'string' ? own.value : JSON.stringify(own.value)] : [],
  );
  return constants.length === 0 ? 'comparison' : constants.join(' ');
}

function VariantsField({ variants, ...props }: ControlProps & { readonly variants: readonly Field[] }): ReactNode {
  const { named, value, onChange, described } = props;
  const shown = value ?? named.fallback;
  const chosen = Math.max(
    0,
    variants.findIndex((variant) => fits(variant, shown)),
  );
  const variant = variants[chosen];
  return (
    <div className="variants">
      <select
        aria-label="Form"
        value={chosen}
        onChange={({ currentTarget }) => {
          const next = variants[Number(currentTarget.value)];
          if (next !== undefined) onChange(initialOf(next));
        }}
      >
        {variants.map((each, index) => (
          <option key={nameOf(each)} value={index}>
            {nameOf(each)}
          </option>
        ))}
      </select>
      {variant === undefined || variant.kind === 'constant' ? null : (
        <Control
          {...props}
          named={{ ...named, name: nameOf(variant), field: variant }}
          described={{ ...described, id: `${described.id}-form` }}
        />
      )}
      {variant?.kind === 'number' ? (
        <label className="hidden" htmlFor={`${described.id}-form`}>
          {nameOf(variant)}
        </label>
      ) : null}
    </div>
  );
}
