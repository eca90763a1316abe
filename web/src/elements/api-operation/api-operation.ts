import { html, nothing, type TemplateResult } from "lit";
import { TokenStore } from "../../api/token-store.ts";
import { isFields, type Schema } from "../../api/wire.ts";
import { type Exchange, exchange } from "../../state/api-exchange.ts";
import { addressOf, type ApiRequest, curlOf, requestOf } from "../../state/api-request.ts";
import { type Operation, parametersSchema, resolved, type ResponseInfo, typeName } from "../../state/openapi.ts";
import { apiTexts as texts } from "../../texts/api-explorer.ts";
import "../api-response/api-response.ts";
import type { FormElement } from "../form/form.ts";
import "../form/form.ts";
import { Part } from "../part/part.ts";
import { copyText } from "../shared/copy.ts";

const MAX_FIELDS = 100; // rows of a schema's table
const DESTRUCTIVE = new Set(["DELETE"]);

/**
 * An operation of the API: what it takes and returns, and a form to try it. One request runs at a time; it is stopped
 * when the element is removed. Give each operation an element of its own.
 */
export class ApiOperationElement extends Part {
  static override properties = {
    operation: { attribute: false },
    exchange: { state: true },
    problem: { state: true },
    isJson: { state: true },
    command: { state: true },
    isRevealed: { state: true },
    copied: { state: true },
    asked: { state: true },
  };
  declare operation: Operation;
  declare exchange: Exchange | null;
  declare problem: string;
  /** Whether the body is entered as JSON. */
  declare isJson: boolean;
  /** The request whose command for a shell is shown. */
  declare command: ApiRequest | null;
  declare isRevealed: boolean;
  declare copied: string;
  /** A request that the person has to confirm. */
  declare asked: ApiRequest | null;

  readonly #token = new TokenStore();
  #abort: AbortController | null = null;
  #body: unknown = undefined;
  #frame = 0;

  constructor() {
    super();
    this.exchange = null;
    this.problem = "";
    this.isJson = false;
    this.command = null;
    this.isRevealed = false;
    this.copied = "";
    this.asked = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#abort?.abort();
    cancelAnimationFrame(this.#frame);
  }

  override render(): TemplateResult {
    const { method, path, summary, responses } = this.operation;
    return html`<article aria-labelledby="operation">
      <header>
        <h2 id="operation" tabindex="-1">${summary || path}</h2>
        <p class="address">
          <span class="method" data-method=${method}>${method}</span> <code dir="ltr">${path}</code>
        </p>
      </header>
      ${this.#form()} ${this.command === null ? nothing : this.#command(this.command)}
      ${this.exchange === null ? nothing : this.#exchange(this.exchange)}
      <section aria-label=${texts.responses}>
        <h3>${texts.responses}</h3>
        <ul class="responses">${responses.map((each) => this.#response(each))}</ul>
      </section>
      ${this.#confirmation()}
    </article>`;
  }

  #exchange(found: Exchange) {
    return html`<callboard-api-response .exchange=${found}></callboard-api-response>`;
  }

  override updated(): void {
    const dialog = this.querySelector("dialog");
    if (this.asked !== null && dialog !== null && !dialog.open) dialog.showModal();
  }

  // The form

  #form() {
    const { parameters, body } = this.operation;
    const schema = parametersSchema(parameters);
    const isRunning = this.#isRunning;
    return html`<form class="try" aria-label=${texts.tryIt} @submit=${this.#onSubmit}>
      ${
        schema === null
          ? nothing
          : html`<h3>${texts.parameters}</h3>
              <callboard-form id="parameters" .schema=${schema} .value=${{}}></callboard-form>`
      }
      ${body === null ? nothing : this.#bodyForm(body)}
      ${schema === null && body === null ? html`<p class="hint">${texts.noInput}</p>` : nothing}
      ${this.problem === "" ? nothing : html`<p class="notice error" role="alert">${this.problem}</p>`}
      <div class="actions">
        <button type="submit" class="send" id="send-request" ?disabled=${isRunning}>${texts.send}</button>
        ${isRunning ? this.#stopButton() : nothing}
        <button type="button" class="quiet" id="curl" @click=${this.#showCommand}>${texts.copyCurl}</button>
        <span class="hint" role="status">${this.copied}</span>
      </div>
    </form>`;
  }

  #stopButton() {
    return html`<button type="button" class="stop" id="stop-request" @click=${() => this.#abort?.abort()}>
      ${texts.stop}
    </button>`;
  }

  #bodyForm(body: Schema) {
    const form = this.isJson
      ? html`<callboard-form id="body-json" .schema=${body} .asJson=${true} .label=${texts.bodyJson}
          .value=${this.#body ?? {}}></callboard-form>`
      : html`<callboard-form id="body" .schema=${body} .label=${texts.bodyJson} .value=${this.#body}></callboard-form>`;
    return html`<div class="heading">
        <h3>${texts.body}</h3>
        <button type="button" class="quiet" id="switch-body" @click=${this.#switchBody}>
          ${this.isJson ? texts.asForm : texts.asJson}
        </button>
      </div>
      ${form}`;
  }

  #command(request: ApiRequest) {
    const token = this.#token.get();
    const command = curlOf(request, location.origin, token, this.isRevealed, this.operation.isStream);
    const reveal = (event: Event) => {
      this.isRevealed = (event.target as HTMLInputElement).checked;
      this.copied = "";
    };
    return html`<section class="command" aria-label=${texts.command}>
      <pre tabindex="0" dir="ltr">${command}</pre>
      ${
        token === ""
          ? nothing
          : html`<label class="check">
                <input type="checkbox" .checked=${this.isRevealed} @change=${reveal} />${texts.revealToken}
              </label>
              <p class="hint">${texts.tokenHint}</p>`
      }
      <button type="button" class="quiet" @click=${() => void this.#copy(command)}>${texts.copyCurl}</button>
    </section>`;
  }

  #confirmation() {
    if (this.asked === null) return nothing;
    const { method, path } = this.asked;
    const close = () => (this.asked = null);
    const onClose = ({ target }: Event) => {
      if (!(target as HTMLDialogElement).open) close(); // else it is the event of an earlier question
    };
    return html`<dialog id="confirm-request" aria-labelledby="confirm-title" @close=${onClose}>
      <h3 id="confirm-title">${texts.confirmTitle(method, path)}</h3>
      <p>${texts.confirmText}</p>
      <div class="actions">
        <button type="button" class="stop" id="confirm-send" @click=${this.#onConfirm}>${texts.confirm}</button>
        <button type="button" autofocus @click=${close}>${texts.cancel}</button>
      </div>
    </dialog>`;
  }

  // The documentation

  #response({ status, description, mediaType, schema }: ResponseInfo) {
    const name = schema === null ? "" : typeName(schema);
    const fields = schema === null ? null : resolved(schema);
    const isProblem = mediaType === "application/problem+json";
    return html`<li>
      <code class="code" data-tone=${status < "400" ? "good" : "bad"}>${status}</code> <span>${description}</span>
      <span class="hint">${isProblem ? texts.problem : mediaType}</span>
      ${
        isProblem || fields?.properties === undefined
          ? nothing
          : html`<details>
              <summary>${texts.schemaOf(name)}</summary>
              ${schemaTable(fields)}
            </details>`
      }
    </li>`;
  }

  // Actions

  get #isRunning(): boolean {
    return this.exchange?.state === "sending" || this.exchange?.state === "reading";
  }

  /** The request of the form. Throws an error with a message for people. */
  #request(): ApiRequest {
    const read = (id: string) => this.querySelector<FormElement>(`#${id}`)?.read();
    const body = read(this.isJson ? "body-json" : "body");
    const isLeftOut = !this.operation.isBodyRequired && isFields(body) && Object.keys(body).length === 0;
    const request = requestOf(this.operation, read("parameters"), isLeftOut ? undefined : body);
    addressOf(request, location.origin, texts.notHere);
    return request;
  }

  readonly #onSubmit = (event: Event) => {
    event.preventDefault();
    if (this.#isRunning) return;
    this.#try((request) => {
      if (DESTRUCTIVE.has(request.method)) this.asked = request;
      else void this.#send(request);
    });
  };

  readonly #onConfirm = () => {
    const request = this.asked;
    this.asked = null;
    if (request !== null) void this.#send(request);
  };

  readonly #showCommand = () => {
    this.#try((request) => {
      this.command = request;
      const token = this.#token.get();
      void this.#copy(curlOf(request, location.origin, token, this.isRevealed, this.operation.isStream));
    });
  };

  readonly #switchBody = () => {
    try {
      this.#body = this.querySelector<FormElement>(this.isJson ? "#body-json" : "#body")?.read();
      this.isJson = !this.isJson;
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  };

  #try(action: (request: ApiRequest) => void): void {
    this.problem = this.copied = "";
    try {
      action(this.#request());
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  async #copy(command: string): Promise<void> {
    this.copied = (await copyText(command)) ? texts.copied : texts.notCopied;
  }

  async #send(request: ApiRequest): Promise<void> {
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    const address = addressOf(request, location.origin, texts.notHere);
    const found = await exchange(request, address, this.#token.get(), abort.signal, (each) => this.#report(each));
    if (abort !== this.#abort) return;
    cancelAnimationFrame(this.#frame);
    this.exchange = found;
  }

  /** Show an exchange with the next frame of the screen: a stream may change it more often. */
  #report(found: Exchange): void {
    if (found.state === "sending") this.exchange = found;
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => (this.exchange = found));
  }
}

function schemaTable({ properties = {}, required = [] }: Schema) {
  return html`<div class="scrolled" tabindex="0">
    <table>
      <thead>
        <tr>${[texts.field, texts.type, texts.meaning].map((name) => html`<th scope="col">${name}</th>`)}</tr>
      </thead>
      <tbody>
        ${Object.entries(properties)
          .slice(0, MAX_FIELDS)
          .map(
            ([name, schema]) => html`<tr>
              <th scope="row"><code>${name}</code>${required.includes(name) ? nothing : "?"}</th>
              <td><code>${typeName(schema)}</code></td>
              <td>${schema.description ?? ""}</td>
            </tr>`,
          )}
      </tbody>
    </table>
  </div>`;
}

customElements.define("callboard-api-operation", ApiOperationElement);
