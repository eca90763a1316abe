import { css } from "lit";

export const formStyles = css`
  .fields {
    display: grid;
    gap: 12px;
  }
  .field label {
    display: block;
    font-size: 0.88rem;
    font-weight: 600;
  }
  .field.check label {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 32px;
  }
  .hint {
    margin: 2px 0 0;
    color: var(--faint);
    font-size: 0.82rem;
  }
  input,
  select,
  textarea {
    width: 100%;
    min-height: 44px;
    margin-top: 4px;
    padding: 9px 12px;
    color: inherit;
    background: var(--sheet);
    border: 1px solid color-mix(in srgb, var(--faint) 60%, var(--line));
    border-radius: 10px;
    font: inherit;
  }
  input[type="checkbox"] {
    flex: none;
    width: 20px;
    height: 20px;
    min-height: 20px;
    margin: 0;
    accent-color: var(--accent);
  }
  .code {
    font: 0.85rem/1.5 var(--mono);
  }
`;
