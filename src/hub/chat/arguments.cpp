#include "hub/chat/arguments.h"

#include "hub/chat/operators.h"

namespace tilewright::hub::jinja {

Bound::Bound(const char* function, Arguments& arguments, std::initializer_list<const char*> parameters,
             std::size_t required)
    : values_(parameters.size(), Value::missing()) {
  const std::string who = std::string(function) + "()";
  if (arguments.positional.size() > parameters.size())
    throw Fault{who + " takes at most " + std::to_string(parameters.size()) + " arguments (" +
                std::to_string(arguments.positional.size()) + " given)"};
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = arguments.positional[i];
  for (auto& [name, value] : arguments.named) {
    std::size_t i = 0;
    while (i < parameters.size() && name != parameters.begin()[i]) ++i;
    if (i == parameters.size()) throw Fault{who + " got an unexpected keyword argument '" + name + "'"};
    if (has(i)) throw Fault{who + " got multiple values for argument '" + name + "'"};
    values_[i] = value;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (!has(i)) {
      const char* name = parameters.begin()[i];
      throw Fault{who + " missing required argument '" + (name[0] == '/' ? name + 1 : name) + "'"};
    }
}

bool Bound::truth_or(std::size_t i, bool otherwise) const { return has(i) ? truth(values_[i]) : otherwise; }
std::int64_t Bound::integer_or(std::size_t i, std::int64_t otherwise) const {
  return has(i) ? as_index(values_[i]) : otherwise;
}

const std::string& Bound::text(std::size_t i) const {
  if (values_[i].is_undefined()) throw Fault{values_[i].hint()};
  if (!values_[i].is(Kind::string)) throw Fault{"expected a string, not " + type_name(values_[i])};
  return values_[i].text();
}

}  // namespace tilewright::hub::jinja
