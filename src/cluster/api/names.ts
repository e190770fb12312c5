/** Names, labels and annotations: what is allowed, in the words of apimachinery `util/validation`. */
import type { ObjectMeta } from '../types.ts';
import { type FieldError, fieldError } from './status.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const labelForm = new RegExp(`^${label}$`);
const subdomainForm = new RegExp(`^${label}(\\.${label})*$`);
const qualifiedForm = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValueForm = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

export const dnsLabelText = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;

const subdomainText = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${label}(\\.${label})*')`;

const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const qualifiedText =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const keyText = `a valid label key ${qualifiedText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;

/** All annotations of an object together. */
const annotationBytes = 256 * 1024;

export function isDnsLabel(name: string): boolean {
  return name.length <= 63 && labelForm.test(name);
}

function isSubdomain(name: string): boolean {
  return name.length <= 253 && subdomainForm.test(name);
}

export function nameErrors(name: string | undefined, form: 'label' | 'subdomain' = 'subdomain'): FieldError[] {
  if (!name) return [fieldError.required('metadata.name', 'name or generateName is required')];
  const fits = form === 'label' ? isDnsLabel(name) : isSubdomain(name);
  return fits ? [] : [fieldError.invalid('metadata.name', name, form === 'label' ? dnsLabelText : subdomainText)];
}

export function metadataErrors(metadata: ObjectMeta, form: 'label' | 'subdomain' = 'subdomain'): FieldError[] {
  return [
    ...generateNameErrors(metadata),
    ...nameErrors(metadata.name, form),
    ...labelErrors(metadata.labels ?? {}),
    ...annotationErrors(metadata),
  ];
}

/** A base may end in a dash: more comes after it. */
function generateNameErrors({ generateName }: ObjectMeta): FieldError[] {
  if (!generateName || isSubdomain(generateName.replace(/-$/, 'a'))) return [];
  return [fieldError.invalid('metadata.generateName', generateName, subdomainText)];
}

function labelErrors(labels: Readonly<Record<string, string>>): FieldError[] {
  const invalid = (value: string) => (text: string) => fieldError.invalid('metadata.labels', value, text);
  return Object.entries(labels).flatMap(([key, value]) => [
    ...keyProblems(key).map(invalid(key)),
    ...labelValueProblems(value).map(invalid(value)),
  ]);
}

export function labelValueProblems(value: string): string[] {
  const problems: string[] = [];
  if (value.length > 63) problems.push('must be no more than 63 bytes');
  if (!labelValueForm.test(value)) problems.push(labelValueText);
  return problems;
}

function annotationErrors({ annotations = {} }: ObjectMeta): FieldError[] {
  const errors = Object.keys(annotations).flatMap((key) =>
    keyProblems(key.toLowerCase()).map((text) => fieldError.invalid('metadata.annotations', key.toLowerCase(), text)),
  );
  const bytes = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (bytes > annotationBytes) {
    const message = `Too long: may not be more than ${annotationBytes} bytes`;
    errors.push({ reason: 'FieldValueTooLong', field: 'metadata.annotations', message });
  }
  return errors;
}

/** What is wrong with the key of a label or an annotation. */
export function keyProblems(key: string): string[] {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2) return [keyText];
  const problems: string[] = [];
  const [prefix = ''] = parts;
  if (parts.length === 2) {
    if (prefix === '') problems.push('prefix part must be non-empty');
    else if (!isSubdomain(prefix)) problems.push(`prefix part ${subdomainText}`);
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push('name part must be no more than 63 bytes');
  if (!qualifiedForm.test(name)) problems.push(`name part ${qualifiedText}`);
  return problems;
}
