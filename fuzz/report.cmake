set(libraries tw_report)
